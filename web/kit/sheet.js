/* sheet.js: loads a style sheet with the view that needs it, so that the first paint does not wait for it. */
import { keepLoading } from "./later.js";

/** @type {Map<string, Promise<void>>} */
const sheets = new Map();

/** @param {string} name @returns {Promise<void>} */
function load(name) {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = import.meta.resolve(`/assets/${name}`); /* the import map knows its hash */
    return new Promise((ready, failed) => {
        link.onload = () => ready();
        link.onerror = () => {
            link.remove();
            failed(new Error(`${name} did not come`));
        };
        document.head.append(link);
    });
}

/** Once it is in force, or did not come: a view without it is better than none, and a module that failed once is never run again. @param {string} name a file of web/ */
export function sheet(name) {
    const there = sheets.get(name) ?? new Promise((go) => keepLoading(() => load(name).finally(go), () => {}));
    sheets.set(name, there);
    return there;
}
