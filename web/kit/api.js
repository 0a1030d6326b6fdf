/* api.js: questions to the hub. Where it refuses, or does not answer, a Problem is thrown: a sentence for people. */

/** @typedef {import("./types").Problem} Problem */

/** @param {Response} r @returns {Promise<Problem>} */
export async function problemOf(r) {
    try {
        const { detail, error, column } = await r.json();
        if (detail ?? error) return { status: r.status, detail: detail ?? error, column };
    } catch {
        /* a proxy's page: its status has to do */
    }
    return { status: r.status, detail: `the hub answered ${r.status} ${r.statusText}` };
}

/** Throws a Problem. @param {string} url @param {RequestInit} [init] */
export async function ask(url, init) {
    let r;
    try {
        r = await fetch(url, init);
    } catch (e) {
        if (e instanceof DOMException && e.name === "AbortError") throw e;
        throw /** @type {Problem} */ ({ status: 0, detail: "the hub cannot be reached" });
    }
    if (!r.ok) throw await problemOf(r);
    return r.status === 204 ? null : r.json();
}

/** Throws a Problem. @param {string} url @param {unknown} body @param {string} [method] */
export function send(url, body, method = "POST") {
    return ask(url, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}
