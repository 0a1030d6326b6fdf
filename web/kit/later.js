/* later.js: what comes after the first paint: its file is loaded when it is first needed. Where a file does not come, that is said. */
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { say } from "./words.en.js";

/** Why a file did not come, and what to do. */
export function LoadAgain() {
    return html`${say.maybeUpgraded} <a data-load href=${location.href}>${say.loadAgain}</a>`;
}

const TRIES = 5; /* while the line stands: what cannot be had then is of another version of the hub */
const PAUSE_MS = 2000; /* before the first of them, longer before each of the next */

/**
 * @typedef {object} Missed a part that did not come
 * @property {(() => void) | null} again asks for it once more; null: nobody waits for it any more
 * @property {boolean} loud it is said over the view
 */
/** @type {Set<Missed>} */
const missed = new Set();
let tell = () => {};
let away = false; /* the line is lost */
let tries = 0;
let timer = 0;

/** @param {boolean} back the line is: what nobody waits for is forgotten */
function askAgain(back) {
    clearTimeout(timer);
    timer = 0;
    for (const m of [...missed]) {
        if (m.again) m.again();
        else if (back) missed.delete(m);
    }
    tell();
}

/** @param {Missed} m */
function miss(m) {
    missed.add(m);
    tell();
    if (!m.again || away || timer || tries >= TRIES) return;
    tries++;
    timer = window.setTimeout(() => askAgain(false), tries * PAUSE_MS);
}

/** Over the view, once a part was asked for and did not come. lost: the line is, which says enough; when it is back, such parts are asked for again. @param {{ lost: boolean }} props */
export function Missing({ lost }) {
    const [, again] = useState({});
    useLayoutEffect(() => {
        tell = () => again({});
    }, []);
    useEffect(() => {
        away = lost;
        tries = 0;
        if (!lost) askAgain(true);
    }, [lost]);
    return !lost && [...missed].some((m) => m.loud) && html`<p class="banner lost-line" role="alert">${say.partMissing} <span class="why"><${LoadAgain} /></span></p>`;
}

/** What somebody asked for just now, once its file is there; later they would be surprised by it. @template M @param {Promise<M>} file import("./part.js") @param {(m: M) => unknown} then */
export function whenLoaded(file, then) {
    void file.then(then, () => miss({ again: null, loud: true }));
}

/** What belongs to the page, whenever its file comes. @template M @param {() => Promise<M>} load @param {(m: M) => unknown} then @param {() => void} [failed] says that it did not come; without it the banner does */
export function keepLoading(load, then, failed) {
    /** @type {Missed} */
    const m = { again: ask, loud: !failed };
    let came = false;

    function ask() {
        void load().then(
            (part) => {
                if (came) return; /* it was asked for twice */
                came = true;
                if (missed.delete(m)) tell();
                then(part);
            },
            () => {
                if (came) return;
                failed?.();
                miss(m);
            },
        );
    }
    ask();
}

/** A part of a view. @param {() => Promise<any>} load @param {string} name under which that module exports it @returns {(props: any) => any} a component */
export function later(load, name) {
    /** @type {any} */
    let Part = null;
    return (props) => {
        const [, again] = useState({});
        useEffect(() => {
            if (Part) return;
            keepLoading(load, (m) => {
                Part = m[name];
                again({});
            });
        }, []);
        return Part && html`<${Part} ...${props} />`;
    };
}
