/* answer.js: the answer to "which GPU can I use now" in words, and the counts behind it. */
import { states } from "../kit/facts.js";
import { count } from "../kit/format.js";
import { html } from "../kit/html.js";
import { live } from "../kit/live.js";
import { devicesOf, nodeName, tally } from "../kit/model.js";
import { href, place } from "../kit/router.js";

/** @typedef {import("../kit/types").Node} Node */

const NAMED = 6; /* nodes; the rest is a number */
const LONG_MS = 2 * 3600 * 1000;

/** @param {{ nodes: Node[] }} props */
export function Answer({ nodes }) {
    const { devices, by, where } = tally(nodes);
    if (!nodes.length && live.status === "lost") return html`<h1>not known</h1>`;
    if (!nodes.length) return html`<h1>${live.filter ? `nothing of ${count(live.of ?? 0, "GPU")} matches` : "no nodes yet"}</h1>`;
    const free = by.free ?? 0;
    const of = live.filter ? `${devices} of ${live.of} match, ${free} free` : `${free} of ${devices} free`;
    const rest = where.slice(NAMED).reduce((n, w) => n + w.free, 0);
    return html`<h1>
        ${!live.filter && !free && devices > 0 ? `none of ${devices} free` : of}${where.length > 0 && ": "}
        <span class="where">
            ${where.slice(0, NAMED).map(({ node, free: n }, i) => [i > 0 && ", ", html`<span>${n} on <a href="/node/${encodeURIComponent(node.name)}">${nodeName(node)}</a></span>`])}
            ${rest > 0 && [", ", html`<span>${rest} on ${count(where.length - NAMED, "other node")}</span>`]}
        </span>
    </h1>`;
}

/** Held and idle for long: what one may ask for. @param {Node[]} nodes @param {number} now */
function idleFor(nodes, now) {
    let n = 0;
    for (const node of nodes) for (const d of devicesOf(node)) if (d.state === "held" && d.idle_since && now - d.idle_since > LONG_MS) n++;
    return n;
}

/** A state's count is a link that filters by it. @param {{ nodes: Node[], now: number }} props */
export function Counts({ nodes, now }) {
    const { by } = tally(nodes);
    const idle = idleFor(nodes, now);
    const chosen = (place.query.get("filter") ?? "").trim();
    const to = (/** @type {string} */ filter) => href(place.path, { ...Object.fromEntries(place.query), filter: filter === chosen ? "" : filter });
    return html`<ul class="counts" aria-label="GPUs by state">
        ${states.map(({ word, mark, meaning }, i) => {
            const n = by[word] ?? 0;
            if (!n && i > 2) return null;
            return html`<li>
                <a class="count ${word}" href=${to(word)} title=${meaning} aria-current=${chosen === word}><span class="mark">${mark}</span> ${n} ${word}</a>
                ${word === "held" && idle > 0 && html` <a class="dim" href=${to("held idle>2h")}>(${idle} idle > 2 h)</a>`}
            </li>`;
        })}
        <li class="dim">${count(nodes.length, "node")}</li>
        <li class="dim legend" aria-hidden="true"><span class="bar work"><i /></span> use <span class="bar memory"><i /></span> memory</li>
    </ul>`;
}
