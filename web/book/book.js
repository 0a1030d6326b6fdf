/* book.js: opens the form that books, and the one that gets in line. Each is loaded when it is first asked for. */

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */

/** @param {import("../kit/types").Draft} draft */
export function book(draft) {
    void import("./form.js").then((m) => m.openForm(draft));
}

/** @param {Node} n @param {Device} d */
export function tellWhenFree(n, d) {
    void import("./wait.js").then((m) => m.openWait(n, d));
}
