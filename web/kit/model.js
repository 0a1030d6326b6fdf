/* model.js: questions about devices and nodes that several views ask: who holds it, what is free, how full. */
import { say } from "./words.en.js";

/** @typedef {import("./types").Node} Node */
/** @typedef {import("./types").Device} Device */

/** Split into MIG instances: these are what one takes, so it is no cell and does not count. @param {Node} n @param {Device} d */
export function isSplit(n, d) {
    return d.split || (!d.parent && n.devices.some((other) => other.parent === d.uuid));
}

/** @type {WeakMap<Node, Device[]>} */
const shown = new WeakMap();

/** What counts and is shown of a node. @param {Node} n */
export function devicesOf(n) {
    let v = shown.get(n);
    if (!v) {
        v = n.devices.some((d) => d.parent || d.split) ? n.devices.filter((d) => !isSplit(n, d)) : n.devices;
        shown.set(n, v);
    }
    return v;
}

/** "3", of a MIG instance "3.1" @param {Device} d */
export function indexOf(d) {
    return d.mig === undefined ? `${d.index}` : `${d.index}.${d.mig}`;
}

/** "dgx1:3", as commands print it and take it. @param {Node} n @param {Device} d */
export const placeOf = (n, d) => `${n.name}:${indexOf(d)}`;

/** Those of this hub: of others that it follows nothing is booked or kept here. @param {Node[]} nodes */
export const ownNodes = (nodes) => (nodes.some((n) => n.site) ? nodes.filter((n) => !n.site) : nodes);

/** As its own hub calls it: without the site that stands before it. @param {Node} n @param {string} name */
export const nameAtSite = (n, name) => (n.site && name.startsWith(`${n.site}/`) ? name.slice(n.site.length + 1) : name);

/** Its page at the hub it belongs to. @param {Node} n @param {Device} [d] */
export const siteHref = (n, d) => `${n.site_url ?? ""}/${d ? "gpu" : "node"}/${encodeURIComponent(nameAtSite(n, d ? placeOf(n, d) : n.name))}`;

/** A GPU by its UUID or by NODE:N. node without d: there is such a node, and no such GPU on it. @param {Node[]} nodes @param {string} word @returns {{ node?: Node, d?: Device }} */
export function gpuNamed(nodes, word) {
    for (const node of nodes) {
        const d = node.devices.find((one) => one.uuid === word);
        if (d) return { node, d };
    }
    const at = word.lastIndexOf(":");
    const name = word.slice(0, Math.max(at, 0));
    const node = nodes.find((n) => n.name === name || n.id === name);
    const all = node?.devices.filter((d) => indexOf(d) === word.slice(at + 1)) ?? [];
    return { node, d: all.find((d) => d.state !== "lost") ?? all[0] };
}

const GONE = "Zombie"; /* as a user: PROC_GONE of src/model/fact.h */
export const GONE_WORDS = say.goneHolds;

/** It has ended, and the driver lists it all the same: nobody's. @param {{ user?: string }} p */
export const isGone = (p) => p.user === GONE;

/** Whose it is: persons, or logins that nobody is told of, most memory first. nobody: not to be counted. @param {Device} d */
export function usersOf(d) {
    /** @type {Map<string, { user: string, nobody: boolean, mem: number, start: number, programs: Set<string> }>} */
    const users = new Map();
    for (const p of d.processes) {
        const name = p.person ?? p.user ?? "?";
        const u = users.get(name) ?? { user: name, nobody: p.person === null || isGone(p), mem: 0, start: Infinity, programs: new Set() };
        u.mem += p.mem ?? 0;
        u.start = Math.min(u.start, p.since ?? p.start ?? Infinity);
        if (p.name) u.programs.add(p.name);
        users.set(name, u);
    }
    return [...users.values()].sort((a, b) => b.mem - a.mem || (a.user < b.user ? -1 : 1));
}

/** The name on a cell; empty when it is nobody's. @param {Device} d */
export function holderOf(d) {
    if (d.state !== "held" && d.state !== "busy") return "";
    const users = usersOf(d);
    return users.length > 1 ? `${users[0].user} +${users.length - 1}` : users[0]?.user ?? d.booking?.person ?? "";
}

/** Held by a booking alone: nobody is on it. @param {Device} d */
export const isReserved = (d) => d.state === "held" && !d.processes.length && !!d.booking;

/** How full its memory is, 0 to 1. @param {Device} d @returns {number | undefined} */
export function fullness(d) {
    const { mem_used: used, mem_total: total } = d.metrics;
    return used === undefined || !total ? undefined : Math.min(1, used / total);
}

/** Its last values are current: not so of one that starts, is offline, hung or lost. @param {{ state: string }} d */
export function isFresh(d) {
    return d.state !== "starting" && d.state !== "stale" && d.state !== "hung" && d.state !== "lost";
}

/** What screens call it; its real name is what links and filters use. @param {Node} n */
export const nodeName = (n) => n.display ?? n.name;

/** @param {Device} d */
export const modelName = (d) => d.display ?? d.name;

/** The model where there is little room; the same as modelOf where nobody said. @param {Node} n */
export function modelBrief(n) {
    const d = n.devices.find((one) => !one.parent);
    return modelOf(n) === say.several || !d?.short ? modelOf(n) : d.short;
}

/** Common model without the maker's name; "several". @param {Node} n */
export function modelOf(n) {
    let model = "";
    for (const d of n.devices) {
        if (d.parent || modelName(d) === model) continue;
        if (model) return say.several;
        model = modelName(d);
    }
    return model.replace(/^(NVIDIA|AMD|Intel) /i, "");
}

export const IDLE_LONG_MS = 2 * 3600 * 1000; /* held without work for so long is said apart */

/**
 * What a cluster comes to, by the rules of view_tally in src/model/now.c. where: nodes with free GPUs, most first. util: mean utilisation of
 * the busy ones over a minute, undefined where none tells it. idle: held for long without work, and what that cost. power: in watts.
 * @param {Node[]} nodes @param {number} now
 */
export function tally(nodes, now) {
    /** @type {Record<string, number>} */
    const by = {};
    /** @type {{ node: Node, free: number }[]} */
    const where = [];
    let [devices, idle, idleCost, told, used, power] = [0, 0, 0, 0, 0, 0];
    for (const n of nodes.filter((one) => !one.unlisted)) {
        let free = 0;
        for (const d of n.devices) if (isFresh(d)) power += d.metrics.power ?? 0; /* of MIG instances only the GPU tells it */
        for (const d of devicesOf(n)) {
            devices++;
            by[d.state] = (by[d.state] ?? 0) + 1;
            if (d.state === "free") free++;
            if (d.state === "busy" && d.metrics.util !== undefined) {
                told++;
                used += d.util_mean ?? d.metrics.util;
            }
            if (d.state !== "held" || !d.idle_since || now - d.idle_since < IDLE_LONG_MS) continue;
            idle++;
            idleCost += ((d.price ?? 0) * (now - d.idle_since)) / 3600000;
        }
        if (free) where.push({ node: n, free });
    }
    where.sort((a, b) => b.free - a.free);
    return { devices, by, where, idle, idleCost, util: told ? used / told : undefined, power };
}
