/* order.js: the order in which nodes stand, and the headings they stand under. */
import { devicesOf, fullness, modelOf } from "../kit/model.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {{ title: string, ids: string[] }} Group */

/** @type {[string, string][]} */
export const SORTS = [["name", "name"], ["free", "free first"], ["use", "busiest first"], ["memory", "memory free"], ["trouble", "trouble first"]];
/** @type {[string, string][]} */
export const GROUPS = [["none", "none"], ["model", "model"]];

/** @param {Node} n @param {(d: import("../kit/types").Device) => number} of */
const sum = (n, of) => devicesOf(n).reduce((t, d) => t + of(d), 0);

/** Larger stands first. @type {Record<string, (n: Node) => number>} */
const weights = {
    free: (n) => sum(n, (d) => Number(d.state === "free")),
    use: (n) => sum(n, (d) => d.metrics.util ?? 0) / Math.max(1, devicesOf(n).length),
    memory: (n) => sum(n, (d) => (d.metrics.mem_total ?? 0) * (1 - (fullness(d) ?? 1))),
    trouble: (n) => Number(n.state !== "up") * 1000 + sum(n, (d) => Number(d.state === "hung" || d.state === "lost" || d.state === "stale")),
};

/** nodes come by name; where they weigh the same they stay so. @param {Node[]} nodes @param {string} sort @param {string} group @returns {Group[]} */
export function inOrder(nodes, sort, group) {
    const weight = weights[sort];
    const sorted = weight
        ? nodes.map((n) => ({ n, w: weight(n) })).sort((a, b) => b.w - a.w).map((x) => x.n)
        : nodes;
    if (group !== "model") return [{ title: "", ids: sorted.map((n) => n.id) }];
    /** @type {Map<string, string[]>} */
    const groups = new Map();
    for (const n of sorted) {
        const model = modelOf(n) || "no GPUs";
        groups.set(model, [...(groups.get(model) ?? []), n.id]);
    }
    return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([title, ids]) => ({ title, ids }));
}
