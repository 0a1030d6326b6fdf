/* sheet.js: loads a style sheet with the view that needs it, so that the first paint does not wait for it. */

/** @type {Map<string, Promise<void>>} */
const sheets = new Map();

/** Once it is in force. @param {string} name a file of web/ */
export function sheet(name) {
    const already = sheets.get(name);
    if (already) return already;
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = import.meta.resolve(`/assets/${name}`); /* the import map knows its hash */
    /** @type {Promise<void>} */
    const there = new Promise((ready, failed) => {
        link.onload = () => ready();
        link.onerror = () => failed(new Error(`${name} did not come`));
    });
    sheets.set(name, there);
    document.head.append(link);
    return there;
}
