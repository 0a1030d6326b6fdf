/* book.js: opens the form that books, and the one that gets in line. Each is loaded when it is first asked for. */
import { whenLoaded } from "../kit/later.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */

/** @param {import("../kit/types").Draft} draft */
export function book(draft) {
    whenLoaded(import("./form.js"), (m) => m.openForm(draft));
}

/** @param {Node} n @param {Device} d */
export function tellWhenFree(n, d) {
    whenLoaded(import("./wait.js"), (m) => m.openWait(n, d));
}
