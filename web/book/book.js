/* book.js: opens the form that books. The form is loaded when it is first asked for. */

/** @param {import("../kit/types").Draft} draft */
export function book(draft) {
    void import("./form.js").then((m) => m.openForm(draft));
}
