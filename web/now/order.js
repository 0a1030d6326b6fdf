/* order.js: the order in which nodes stand, and the headings they stand under. */
import { natural } from "../kit/live.js";
import { devicesOf, fullness, isFresh, modelOf } from "../kit/model.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */
/** pick: of their GPUs only these. @typedef {{ title: string, ids: string[], pick?: Set<string> }} Group */

/** @type {[string, string][]} */
export const SORTS = [["name", say.name], ["free", say.freeFirst], ["use", say.busiestFirst], ["memory", say.memoryFree], ["trouble", say.troubleFirst]];
const LABELS = 12; /* that one may group by */

/** By what nodes can be grouped: their model, the site they are of, a label that some have ("rack"); in the heat grid each GPU by the team that is on it. @param {Node[]} nodes @param {boolean} cells @returns {[string, string][]} */
export function groupsOf(nodes, cells) {
    const labels = new Set(nodes.flatMap((n) => Object.keys(n.labels ?? {})));
    const teams = cells && nodes.some((n) => n.devices.some((d) => d.processes.some((p) => p.teams?.length)));
    return [["none", say.none], ["model", say.model], ...(nodes.some((n) => n.site) ? [/** @type {[string, string]} */ (["site", say.site])] : []), ...(teams ? [/** @type {[string, string]} */ (["team", say.team])] : []), ...[...labels].sort().slice(0, LABELS).map((l) => /** @type {[string, string]} */ ([`label:${l}`, l]))];
}

/** Whose it is, of a GPU that is somebody's. @param {import("../kit/types").Device} d */
function teamOf(d) {
    if (d.state !== "held" && d.state !== "busy") return say.nobodys;
    return d.processes.find((p) => p.teams?.length)?.teams?.[0] ?? say.inNoTeam;
}

/** Every GPU under its team; a node may stand under several. @param {Node[]} nodes @returns {Group[]} */
function byTeam(nodes) {
    /** @type {Map<string, Group & { pick: Set<string> }>} */
    const groups = new Map();
    for (const n of nodes)
        for (const d of devicesOf(n)) {
            const title = teamOf(d);
            const g = groups.get(title) ?? { title, ids: [], pick: new Set() };
            if (g.ids.at(-1) !== n.id) g.ids.push(n.id);
            g.pick.add(d.uuid);
            groups.set(title, g);
        }
    const last = (/** @type {string} */ title) => Number(title === say.nobodys) * 2 + Number(title === say.inNoTeam);
    return [...groups.values()].sort((a, b) => last(a.title) - last(b.title) || natural.compare(a.title, b.title));
}

/** @param {Node} n @param {string} group */
function titleOf(n, group) {
    if (group === "model") return modelOf(n) || say.withoutGpus;
    if (group === "site") return n.site ?? say.thisHub;
    const name = group.slice("label:".length);
    return n.labels?.[name] ?? say.withoutLabel(name);
}

/** @param {Node} n @param {(d: import("../kit/types").Device) => number} of */
const sum = (n, of) => devicesOf(n).reduce((t, d) => t + of(d), 0);

/** Larger stands first. @type {Record<string, (n: Node) => number>} */
const weights = {
    free: (n) => sum(n, (d) => Number(d.state === "free")),
    use: (n) => sum(n, (d) => d.metrics.util ?? 0) / Math.max(1, devicesOf(n).length),
    memory: (n) => sum(n, (d) => (d.metrics.mem_total ?? 0) * (1 - (fullness(d) ?? 1))),
    trouble: (n) => Number(n.state !== "up") * 1000 + sum(n, (d) => Number(!isFresh(d) && d.state !== "starting")),
};

/** nodes come by name; where they weigh the same they stay so. @param {Node[]} nodes @param {string} sort @param {string} group @returns {Group[]} */
export function inOrder(nodes, sort, group) {
    const weight = weights[sort];
    const sorted = weight
        ? nodes.map((n) => ({ n, w: weight(n) })).sort((a, b) => b.w - a.w).map((x) => x.n)
        : nodes;
    if (group === "none") return [{ title: "", ids: sorted.map((n) => n.id) }];
    if (group === "team") return byTeam(sorted);
    /** @type {Map<string, Group>} */
    const groups = new Map();
    for (const n of sorted) {
        const title = titleOf(n, group);
        const g = groups.get(title) ?? { title, ids: [] };
        g.ids.push(n.id);
        groups.set(title, g);
    }
    return [...groups.values()].sort((a, b) => natural.compare(a.title, b.title));
}
