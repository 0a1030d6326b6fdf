/* alerts.js: alerts and silences, asked of the hub every ten seconds while something on the screen shows them: the view, the number in the navigation. */
import { useEffect } from "preact/hooks";
import { ask, send } from "../kit/api.js";
import { useNews, whileSeen } from "../kit/use.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Alerts} Alerts */
/** @typedef {import("../kit/types").Problem} Problem */

const AGAIN_MS = 10000;

/** @type {Alerts & { known: boolean, problem: Problem | null }} */
export const alerts = { at: 0, firing: 0, rows: [], silences: [], channels: [], known: false, problem: null };

/** @type {Set<() => void>} */
const readers = new Set();

/** @param {() => void} tell */
function onAlerts(tell) {
    readers.add(tell);
    return () => readers.delete(tell);
}

let past = false; /* what is over is asked for, too */
let asked = 0;

/** Throws nothing: what went wrong is shown where alerts are. */
async function look() {
    const mine = ++asked;
    /** @type {Partial<typeof alerts>} */
    let now;
    try {
        now = { ...(await ask(`/api/v1/alerts${past ? "?all" : ""}`)), known: true, problem: null };
    } catch (e) {
        now = { problem: /** @type {Problem} */ (e) };
    }
    if (mine !== asked) return;
    Object.assign(alerts, now);
    for (const tell of [...readers]) tell();
}

let askers = 0;
let stop = () => {};

/** @returns {() => void} stop */
function keepLooking() {
    if (!askers++) stop = whileSeen(look, AGAIN_MS);
    void look();
    return () => {
        if (!--askers) stop();
    };
}

/** Kept up to date while this is on the screen and the hub lets us read. @param {boolean} readable */
export function useAlerts(readable) {
    useNews(onAlerts);
    useEffect(() => (readable ? keepLooking() : undefined), [readable]);
    return alerts;
}

/** With what was resolved within a week. @param {boolean} wanted */
export function usePast(wanted) {
    useEffect(() => {
        past = wanted;
        if (wanted) void look();
        return () => void (past = false);
    }, [wanted]);
}

/** Throws a Problem. @param {{ rule: string, node: string, for: string, reason: string }} body patterns; empty: any */
export async function silence(body) {
    await send("/api/v1/silences", Object.fromEntries(Object.entries(body).filter(([, v]) => v)));
    await look();
}

/** Throws a Problem. @param {number} id */
export async function endSilence(id) {
    await ask(`/api/v1/silences/${id}`, { method: "DELETE" });
    await look();
}

/**
 * A test message through a channel: what became of it, in words. Throws a Problem.
 * @param {string} name @returns {Promise<string>}
 */
export async function tryChannel(name) {
    const got = await send(`/api/v1/channels/${encodeURIComponent(name)}/test`, {});
    await look();
    return got.error ? say.sentToSome(got.error) : say.sent;
}
