/* later.js: what comes after the first paint: its file is loaded when it is first needed. Where a file does not come, that is said. */
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { html } from "./html.js";
import { say } from "./words.en.js";

/** Why a file did not come, and what to do. */
export function LoadAgain() {
    return html`${say.maybeUpgraded} <a data-load href=${location.href}>${say.loadAgain}</a>`;
}

let tell = () => {};

/** Over the view, once a part was asked for and did not come; it stays, since what came after it is another part. lost: the line is, which says enough. @param {{ lost: boolean }} props */
export function Missing({ lost }) {
    const [missing, setMissing] = useState(false);
    useLayoutEffect(() => {
        tell = () => setMissing(true);
    }, []);
    return missing && !lost && html`<p class="banner lost-line" role="alert">${say.partMissing} <span class="why"><${LoadAgain} /></span></p>`;
}

/** Once its file is there. @template M @param {Promise<M>} file import("./part.js") @param {(m: M) => unknown} then */
export function whenLoaded(file, then) {
    void file.then(then, () => tell());
}

/** A part of a view. @param {() => Promise<any>} load @param {string} name under which that module exports it @returns {(props: any) => any} a component */
export function later(load, name) {
    /** @type {any} */
    let Part = null;
    return (props) => {
        const [, again] = useState({});
        useEffect(() => {
            if (Part) return;
            whenLoaded(load(), (m) => {
                Part = m[name];
                again({});
            });
        }, []);
        return Part && html`<${Part} ...${props} />`;
    };
}
