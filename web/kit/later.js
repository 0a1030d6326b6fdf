/* later.js: a part of a view that comes after the first paint: its file is loaded when it is first drawn. */
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";

/** @param {() => Promise<any>} load @param {string} name under which that module exports it @returns {(props: any) => any} a component */
export function later(load, name) {
    /** @type {any} */
    let Part = null;
    return (props) => {
        const [, again] = useState({});
        useEffect(() => {
            if (Part) return;
            void load().then((m) => {
                Part = m[name];
                again({});
            });
        }, []);
        return Part && html`<${Part} ...${props} />`;
    };
}
