/* sentences.js: states in sentences, as the terminal has them (src/format/words.c). Spans go on counting, so they are made here. */
import { stateName } from "../kit/facts.js";
import { COMMA, span } from "../kit/format.js";
import { GONE_WORDS, holderOf, isGone, nodeName, usersOf } from "../kit/model.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */

/** @param {Device} d @param {number} now */
function stateSentence(d, now) {
    if (d.state === "free") {
        const text = d.since ? say.stateFor(stateName(d.state), span(now - d.since)) : stateName(d.state);
        return d.reason && d.reason !== "nobody on it" ? `${text}: ${d.reason}` : text;
    }
    if (d.state === "starting" && d.reason === "starting") return stateName(d.state);
    if (d.state !== "held" && d.state !== "busy") return d.reason ? say.because(d.state, stateName(d.state), d.reason, ": ") : stateName(d.state);
    const users = usersOf(d);
    const start = Math.min(...users.map((u) => u.start));
    let text = `${stateName(d.state)}: ${d.reason}`;
    if (users.length && holderOf(d)) {
        text = say.stateBy(stateName(d.state), users.map((u) => u.user).join(", "), Number.isFinite(start) ? span(now - start) : "");
    }
    if (d.state === "held" && d.idle_since) text += say.andIdle(span(now - d.idle_since));
    if (d.state === "busy" && d.reason.startsWith("runs") && holderOf(d)) text += `: ${d.reason}`;
    return users.some(isGone) ? `${text}: ${GONE_WORDS}` : text;
}

/** "held by lee for 3 h 20 m, idle for 2 h 55 m"; "offline: no data for 40 s"; and whether it needs service. @param {Device} d @param {number} now */
export function deviceSentence(d, now) {
    return stateSentence(d, now) + (d.service ? `; ${say.needsService(d.service)}` : "");
}

/** What is not as it should be with a node; empty when all is. @param {Node} n */
export function nodeTrouble(n) {
    const parts = [];
    const why = n.reason !== "in maintenance" && n.reason;
    if (n.state !== "up") parts.push(why ? say.because(n.state, stateName(n.state), why, COMMA) : stateName(n.state));
    else if (why) parts.push(why);
    if (n.clock_off_ms) parts.push(say.clockOff(span(Math.abs(n.clock_off_ms))));
    if (!n.devices.length && !n.reason) parts.push(say.noGpus);
    return parts.join(COMMA);
}

/** "8 GPUs, 3 free" for a screen reader. @param {Node} n @param {Device[]} devices */
export function nodeLabel(n, devices) {
    const free = devices.filter((d) => d.state === "free").length;
    return say.nodeLabel(nodeName(n), devices.length, free);
}
