/* book.js: the way to the form that books; the form itself comes when it is first asked for. */

/** @param {import("../kit/types").Draft} draft */
export function book(draft) {
    void import("./form.js").then((m) => m.openForm(draft));
}
