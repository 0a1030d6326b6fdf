/* line.js: the places in the queue that this browser has got: kept while a page of it is open, which tells when it is one's turn. */
import { ask, send } from "../kit/api.js";
import { moment } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { pref, setPref } from "../kit/prefs.js";
import { go } from "../kit/router.js";
import { tell } from "./over.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Wait} Wait */
/** @typedef {import("../kit/types").Problem} Problem */

const AGAIN_MS = 10000; /* the hub passes over whom it does not hear for 15 s */

/** [id, person] of each. @returns {[number, string][]} */
function kept() {
    try {
        return JSON.parse(pref("waits", "[]"));
    } catch {
        return [];
    }
}

/** @param {number} id */
const forget = (id) => setPref("waits", JSON.stringify(kept().filter(([one]) => one !== id)).replace("[]", ""));

/** @param {Wait} w */
const urlOf = (w) => `/api/v1/waits/${w.id}?${new URLSearchParams({ person: w.person })}`;

/** This browser can tell by itself, and has not been forbidden to. */
export const canNotify = () => isSecureContext && "Notification" in window && Notification.permission !== "denied";

/** @param {Wait} w */
function announce(w) {
    const words = say.isYours(w.where, moment(w.until ?? 0, hubNow()));
    const at = `/gpu/${encodeURIComponent(w.devices?.[0]?.device ?? "")}`;
    tell(html`<a href=${at}>${words}</a>`, true);
    if (!canNotify() || Notification.permission !== "granted") return;
    try {
        const note = new Notification(words, { tag: `muster-wait-${w.id}` });
        note.onclick = () => {
            window.focus();
            go(at);
        };
    } catch {
        return; /* phones notify through a service worker alone; the words are on the page */
    }
}

/** @param {number} id @param {string} person */
async function look(id, person) {
    try {
        const w = /** @type {Wait} */ (await send(urlOf(/** @type {Wait} */ ({ id, person })), {}));
        if (w.state === "waiting") return;
        forget(id);
        if (w.state === "yours") announce(w);
        else if (w.state === "over") tell(say.waitOver(thingOf(w)), true);
    } catch (e) {
        const { status, detail } = /** @type {Problem} */ (e);
        if (status !== 404 && status !== 410) return; /* logged out, too many questions, no hub: tried again */
        forget(id);
        tell(say.placeLost(detail), true);
    }
}

let going = false;

/** Until it is one's turn everywhere. Each pause begins after an answer: a browser lets a page that is not looked at do that often enough. */
export async function keepPlaces() {
    if (going) return;
    going = true;
    while (kept().length) {
        for (const [id, person] of kept()) await look(id, person);
        if (kept().length) await new Promise((on) => setTimeout(on, AGAIN_MS));
    }
    going = false;
}

/** Throws a Problem. @param {Record<string, unknown>} body @returns {Promise<{ w: Wait, here: boolean }>} here: no channel leads to them, so this page must stay */
export async function getInLine(body) {
    let here = false;
    /** @type {Wait} */
    const w = await send("/api/v1/waits", { ...body, tell: true }).catch((/** @type {Problem} */ e) => {
        if (e.status !== 409 || !e.detail.startsWith("nobody can tell")) throw e;
        here = true;
        return send("/api/v1/waits", body);
    });
    setPref("waits", JSON.stringify([...kept(), [w.id, w.person]]));
    void keepPlaces();
    return { w, here };
}

/** Throws a Problem. @param {Wait} w */
export async function leave(w) {
    await ask(urlOf(w), { method: "DELETE" });
    forget(w.id);
}

/** "dgx2:3", "2 of H200", "4 on dgx*" @param {Wait} w */
export function thingOf(w) {
    if (w.where) return w.where;
    if (w.count === 1 && w.node?.includes(":")) return w.node;
    return say.wanted(w.count, w.model, w.node, w.same_host);
}
