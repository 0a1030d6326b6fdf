/* later.js: what comes after the first paint: its file is loaded when it is first needed. Where a file does not come, that is said. */
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { say } from "./words.en.js";

/** Why a file did not come, and what to do. */
export function LoadAgain() {
    return html`${say.maybeUpgraded} <a data-load href=${location.href}>${say.loadAgain}</a>`;
}

/** @type {Set<() => void>} of each part that did not come: what to do about it once the line is back */
const missed = new Set();
let tell = () => {};

/** @param {() => void} whenBack */
function miss(whenBack) {
    missed.add(whenBack);
    tell();
}

function lineIsBack() {
    const all = [...missed];
    missed.clear();
    for (const whenBack of all) whenBack();
    if (all.length) tell();
}

/** Over the view, once a part was asked for and did not come. lost: the line is, which says enough; when it is back, such parts are asked for again. @param {{ lost: boolean }} props */
export function Missing({ lost }) {
    const [, again] = useState({});
    useLayoutEffect(() => {
        tell = () => again({});
    }, []);
    useEffect(() => {
        if (!lost) lineIsBack();
    }, [lost]);
    return missed.size > 0 && !lost && html`<p class="banner lost-line" role="alert">${say.partMissing} <span class="why"><${LoadAgain} /></span></p>`;
}

/** What somebody asked for just now, once its file is there; later they would be surprised by it. @template M @param {Promise<M>} file import("./part.js") @param {(m: M) => unknown} then */
export function whenLoaded(file, then) {
    void file.then(then, () => miss(() => {}));
}

/** A part that belongs to the page, whenever its file comes. @template M @param {() => Promise<M>} load @param {(m: M) => unknown} then */
export function keepLoading(load, then) {
    void load().then(then, () => miss(() => keepLoading(load, then)));
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
