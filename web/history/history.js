/* history.js: questions about the past: columns of numbers for charts, who was on a GPU; and which stretch of time the URL names. */
import { ask } from "../kit/api.js";
import { metrics } from "../kit/facts.js";
import { hubNow } from "../kit/live.js";

/** @typedef {import("../kit/types").History} History */
/** @typedef {import("../kit/types").Span} Span */

/** What the buttons offer: name, length. @type {[string, number][]} */
export const RANGES = [
    ["1h", 3600000],
    ["6h", 6 * 3600000],
    ["1d", 86400000],
    ["1w", 7 * 86400000],
    ["1m", 30 * 86400000],
    ["1y", 365 * 86400000],
];

/**
 * The stretch that the URL names: a range up to now, or from and to. live: it ends now and moves on. usual: the range where it names none.
 * @param {URLSearchParams} query @param {string} [usual]
 */
export function stretch(query, usual = "1h") {
    const from = Number(query.get("from"));
    const to = Number(query.get("to"));
    if (from > 0 && to > from) return { from, to, live: false, range: "" };
    const [range, length] = RANGES.find(([name]) => name === (query.get("range") ?? usual)) ?? RANGES[0];
    const now = hubNow();
    return { from: now - length, to: now, live: true, range };
}

/** Counters are asked for as what they grew by, all else with least and most beside the mean. @param {string} name */
export function aggsOf(name) {
    return metrics.get(name)?.kind === "counter" ? ["rate"] : ["avg", "min", "max"];
}

/**
 * One question for gauges, one for counters, side by side. Throws a Problem.
 * @param {{ device: string, names: string[], from: number, to: number, points: number, signal?: AbortSignal }} q
 * @returns {Promise<History>}
 */
export async function history({ device, names, from, to, points, signal }) {
    /** @type {Map<string, string[]>} */
    const kinds = new Map();
    for (const n of names) kinds.set(`${aggsOf(n)}`, [...(kinds.get(`${aggsOf(n)}`) ?? []), n]);
    const parts = await Promise.all(
        [...kinds].map(([agg, some]) => {
            const q = new URLSearchParams({ device, metric: some.join(), agg, from: `${Math.floor(from)}`, to: `${Math.ceil(to)}`, points: `${points}` });
            return ask(`/api/v1/history?${q}`, { signal });
        }),
    );
    return { ...parts[0], series: parts.flatMap((p) => p.series), damaged: parts.reduce((sum, p) => sum + (p.damaged ?? 0), 0) };
}

/** Who was on a device, or on a node's devices. Throws a Problem. @param {{ node?: string, device?: string, from: number, to: number, signal?: AbortSignal }} q @returns {Promise<{ spans: Span[], more: boolean }>} */
export function whoWas({ node, device, from, to, signal }) {
    const q = new URLSearchParams({ from: `${Math.floor(from)}`, to: `${Math.ceil(to)}`, by: "user", gap: `${Math.max(60, Math.round((to - from) / 500 / 1000))}` });
    if (node) q.set("node", node);
    if (device) q.set("device", device);
    return ask(`/api/v1/processes?${q}`, { signal });
}
