/* complete.js: what may be typed next in a filter: its names, and the values that this cluster has. It is loaded when the box is first used. */
import { ask } from "./api.js";
import { metrics, states } from "./facts.js";
import { saved } from "./filters.js";
import { live, onChange } from "./live.js";
import { modelName, usersOf } from "./model.js";
import { sheet } from "./sheet.js";
import { say } from "./words.en.js";

/** @typedef {import("./types").Node} Node */
/** @typedef {import("./types").Device} Device */

/** What is offered: the text, what it is; whole: in place of all that was typed. @typedef {{ text: string, what: string, whole?: boolean }} Offer */

await sheet("later.css");

const SHOWN = 8;

/** The names the hub knows: compared with a text, with a number, alone. @type {{ text: string[], number: string[], word: string[] }} */
let names = { text: [], number: [], word: [] };

/** Once they are known; without them values are offered all the same. */
export const known = ask("/api/v1/filter").then((n) => (names = n), () => {});

/** The newest of all nodes: under a filter only some are there. */
let nodes = live.nodes;
onChange(() => {
    if (!live.filter || !nodes.length) nodes = live.nodes;
});

/** @param {(n: Node) => (string | undefined)[]} pick */
const ofNodes = (pick) => () => [...new Set(nodes.flatMap(pick))].flatMap((v) => (v ? [v] : [])).sort();
/** @param {(d: Device) => (string | undefined)[]} pick */
const ofDevices = (pick) => ofNodes((n) => n.devices.flatMap(pick));
/** @param {(p: import("./types").Process) => (string | undefined)[]} pick */
const ofProcesses = (pick) => ofDevices((d) => d.processes.flatMap(pick));

/** Of each name what there is now. @type {Record<string, () => string[]>} */
const VALUES = {
    host: () => nodes.map((n) => n.name),
    person: ofDevices((d) => usersOf(d).map((u) => (u.nobody ? undefined : u.user))),
    user: ofProcesses((p) => [p.user]),
    team: ofProcesses((p) => p.teams ?? []),
    project: ofProcesses((p) => p.projects ?? []),
    company: ofProcesses((p) => p.companies ?? []),
    program: ofProcesses((p) => [p.name]),
    booker: ofDevices((d) => [d.booking?.person]),
    model: ofDevices((d) => [modelName(d).replace(/^(NVIDIA|AMD|Intel) /i, "")]),
    state: () => states.map((s) => s.word),
    advice: ofDevices((d) => (d.advice ?? []).map((a) => a.rule)),
    site: ofNodes((n) => [n.site]),
    driver: ofNodes((n) => [n.driver]),
    cuda: ofNodes((n) => [n.cuda]),
    os: ofNodes((n) => [n.os]),
};

/** As it must be written. @param {string} v */
const quoted = (v) => (/[\s()'"*?[\]]/.test(v) ? `"${v.replaceAll('"', "")}"` : v);

/** Where the word before the caret begins. @param {string} before */
export const wordStart = (before) => before.length - (/[^\s()]*$/.exec(before)?.[0].length ?? 0);

/** One after the other: most are never needed. @param {string} word @returns {Generator<Offer>} */
function* offersFor(word) {
    const w = word.toLowerCase();
    const m = /^(\w+)([:=])(.*)$/.exec(word);
    if (m) {
        const part = m[3].replace(/^"/, "").toLowerCase();
        const of = VALUES[m[1].toLowerCase() === "node" ? "host" : m[1].toLowerCase()];
        for (const v of of?.() ?? []) if (v.toLowerCase().includes(part)) yield { text: `${m[1]}${m[2]}${quoted(v)}`, what: "" };
        return;
    }
    const fits = (/** @type {string} */ text) => text.toLowerCase().startsWith(w);
    for (const text of names.word) if (fits(text)) yield { text, what: say.inState };
    for (const name of w ? ["host", "person", "model"] : []) for (const v of VALUES[name]()) if (fits(v)) yield { text: `${name}:${quoted(v)}`, what: say.kinds[name] };
    for (const name of names.text) if (fits(name)) yield { text: `${name}:`, what: say.is };
    for (const name of names.number) if (fits(name)) yield { text: `${name}>`, what: say.moreThan };
    for (const { name, label } of metrics.values()) if (fits(name)) yield { text: `${name}>`, what: label };
}

/** @param {string} text @param {number} caret @returns {Generator<Offer>} */
function* allOffers(text, caret) {
    const typed = text.trim();
    for (const f of saved()) if (f !== typed && f.toLowerCase().startsWith(typed.toLowerCase())) yield { text: f, what: say.saved, whole: true };
    const before = text.slice(0, caret);
    const word = before.slice(wordStart(before));
    for (const o of offersFor(word)) if (o.text !== word) yield o;
}

/** @param {string} text @param {number} caret @returns {Offer[]} */
export function offers(text, caret) {
    const seen = new Set();
    const some = [];
    for (const o of allOffers(text, caret)) {
        if (seen.has(o.text)) continue;
        seen.add(o.text);
        some.push(o);
        if (some.length === SHOWN) break;
    }
    return some;
}
