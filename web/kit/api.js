/* api.js: questions to the hub. Where it refuses, or does not answer, a Problem is thrown: a sentence for people. */
import { say } from "./words.en.js";

/** @typedef {import("./types").Problem} Problem */

/** @param {Response} r @returns {Promise<Problem>} */
export async function problemOf(r) {
    try {
        const { detail, error, column } = await r.json();
        if (detail ?? error) return { status: r.status, detail: detail ?? error, column };
    } catch {
        /* a proxy's page: its status has to do */
    }
    return { status: r.status, detail: say.hubAnswered(`${r.status} ${r.statusText}`) };
}

/** @param {string} url @param {RequestInit} [init] */
async function answerOf(url, init) {
    let r;
    try {
        r = await fetch(url, init);
    } catch (e) {
        if (e instanceof DOMException && e.name === "AbortError") throw e;
        throw /** @type {Problem} */ ({ status: 0, detail: say.hubAway });
    }
    if (!r.ok) throw await problemOf(r);
    return r;
}

/** Throws a Problem. @param {string} url @param {RequestInit} [init] */
export async function ask(url, init) {
    const r = await answerOf(url, init);
    return r.status === 204 ? null : r.json();
}

/** The same of what is text. Throws a Problem. @param {string} url @param {RequestInit} [init] */
export const askText = async (url, init) => (await answerOf(url, init)).text();

/** Throws a Problem. @param {string} url @param {unknown} body @param {string} [method] */
export function send(url, body, method = "POST") {
    return ask(url, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}
