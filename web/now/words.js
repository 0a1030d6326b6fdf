/* words.js: states in sentences, as the terminal has them (src/format/words.c). Spans go on counting, so they are made here. */
import { count, span } from "../kit/format.js";
import { GONE_WORDS, holderOf, isGone, nodeName, usersOf } from "../kit/model.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */

/** "held by lee for 3 h 20 m, idle for 2 h 55 m"; "stale: no news for 40 s" @param {Device} d @param {number} now */
export function deviceSentence(d, now) {
    if (d.state === "free") {
        const since = d.since ? ` for ${span(now - d.since)}` : "";
        return `free${since}${d.reason && d.reason !== "nobody on it" ? `: ${d.reason}` : ""}`;
    }
    if (d.state !== "held" && d.state !== "busy") return d.reason ? `${d.state}: ${d.reason}` : d.state;
    const users = usersOf(d);
    const start = Math.min(...users.map((u) => u.start));
    let text = `${d.state}: ${d.reason}`;
    if (users.length && holderOf(d)) {
        text = `${d.state} by ${users.map((u) => u.user).join(", ")}`;
        if (Number.isFinite(start)) text += ` for ${span(now - start)}`;
    }
    if (d.state === "held" && d.idle_since) text += `, idle for ${span(now - d.idle_since)}`;
    return users.some(isGone) ? `${text}: ${GONE_WORDS}` : text;
}

/** What is not as it should be with a node; empty when all is. @param {Node} n */
export function nodeTrouble(n) {
    const parts = [];
    if (n.state !== "up") parts.push(n.state);
    if (n.reason && n.reason !== "in maintenance") parts.push(n.reason);
    if (n.clock_off_ms) parts.push(`clock off by ${span(Math.abs(n.clock_off_ms))}`);
    if (!n.devices.length && !n.reason) parts.push("no GPUs seen yet");
    return parts.join(", ");
}

/** "8 GPUs, 3 free" for a screen reader. @param {Node} n @param {Device[]} devices */
export function nodeLabel(n, devices) {
    const free = devices.filter((d) => d.state === "free").length;
    return `${nodeName(n)}, ${count(devices.length, "GPU")}, ${free} free`;
}
