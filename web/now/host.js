/* host.js: how the machine around the GPUs does: shares of RAM, CPU and disks, and from which share on that is much (the limits of GPU Monitor). */
import { facts } from "../kit/facts.js";
import { percent } from "../kit/format.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */

/** Colours by GPU Monitor's limits are asked for (page.colours). */
export const byLimits = facts.colours === "gpu-monitor";

/** RAM, CPU and disks: up to 35 % is little, above 70 % much. GPUs, memory and work: 20 % and 60 %. @param {"host" | "gpu"} of @param {number | undefined} v */
export function level(of, v) {
    if (!byLimits || v === undefined) return "";
    const share = Math.round(v * 100);
    const [mid, high] = of === "host" ? [35, 70] : [20, 60];
    return share > high ? "much" : share > mid ? "some" : "little";
}

export const DISKS = say.disks; /* all in one */

/** Share of the processors: time not idle, else load per processor, which may exceed 1. @param {Node} n */
export function cpuShare(n) {
    const { cpu, load1 } = n.metrics;
    return cpu ?? (load1 !== undefined && n.cpus ? load1 / n.cpus : undefined);
}

/** Of a node whose agent does not tell what is left to users the share of the size is all one knows; it is marked by a "~". @param {Node} n */
export const diskNote = (n) => (n.metrics.disk_avail === undefined ? say.diskNote : "");

/**
 * Each disk by its mount point where it is known, the fullest first; else all in one: how full it is, and that in words. It is what df says, which rounds up.
 * @param {Node} n @returns {[string, number, string][]}
 */
export function disks(n) {
    const { disk_used: used, disk_total: total, disk_avail: left } = n.metrics;
    const each = Object.entries(n.custom ?? {}).flatMap(([name, v]) => (name.startsWith("disk:") ? [{ name: name.slice(4).replaceAll(":", "/"), v }] : []));
    if (!each.length && used !== undefined && total) each.push({ name: DISKS, v: used / (left === undefined ? total : used + left || 1) });
    return each.sort((a, b) => b.v - a.v).map(({ name, v }) => {
        const df = Math.max(0, Math.ceil(v * 100 - 1e-6)) / 100;
        return left === undefined ? [name, v, `~${percent(v)}`] : [name, df, percent(df)];
    });
}

/** How old what is shown of it is: its news, or where it is known by files the newest reading in them. @param {Node} n */
export function heardOf(n) {
    if (!n.id.startsWith("file:")) return { heard: n.heard, old: 15000 };
    const all = n.devices.flatMap((d) => (d.heard === undefined ? [] : [d.heard]));
    return { heard: all.length ? Math.max(...all) : undefined, old: 500000 };
}

/** What stands beside a host's name, where that is asked for. @param {Node} n @returns {{ name: string, v: number, text: string, level: string }[]} */
export function hostShares(n) {
    if (!byLimits || n.state !== "up") return [];
    const { ram_used: used, ram_total: total } = n.metrics;
    /** @type {[string, number | undefined, string?][]} */
    const all = [["RAM", used !== undefined && total ? used / total : undefined], ["CPU", cpuShare(n)], ...disks(n)];
    return all.flatMap(([name, v, text]) => (v === undefined ? [] : [{ name, v, text: text ?? percent(v), level: level("host", v) }]));
}
