/* answer.js: the head of Now: which GPUs are free and where, and what all the others do. It is what `muster ls` says first (src/model/now.c). */
import { stateOf } from "../kit/facts.js";
import { count, percent, power } from "../kit/format.js";
import { html } from "../kit/html.js";
import { live } from "../kit/live.js";
import { isFresh, nodeName } from "../kit/model.js";
import { href, place } from "../kit/router.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {ReturnType<typeof import("../kit/model.js").tally>} Tally */

const NAMED = 6; /* nodes; the rest is a number */

/** The same view with another filter, or without it where it is this one. @param {string} filter */
const filtered = (filter) => href(place.path, { ...Object.fromEntries(place.query), filter: filter === chosen() ? "" : filter });
const chosen = () => (place.query.get("filter") ?? "").trim();

/** @param {{ nodes: Node[], sum: Tally }} props */
export function Answer({ nodes, sum: { devices, by, where } }) {
    if (!nodes.length && live.status === "lost") return html`<h1>not known</h1>`;
    if (!nodes.length) return html`<h1>${live.filter ? `nothing of ${count(live.of ?? 0, "GPU")} matches` : "no nodes yet"}</h1>`;
    const free = by.free ?? 0;
    const rest = where.slice(NAMED).reduce((n, w) => n + w.free, 0);
    const words = live.filter ? `${devices} of ${live.of} match${live.words && ` (${live.words})`}, ${free} free` : !devices ? "no GPUs seen yet" : `${free || "none"} of ${devices} free`;
    return html`<h1>
        ${live.filter || !free ? words : html`<a class="free" href=${filtered("free")} title=${stateOf.get("free")?.meaning}><span class="mark">${stateOf.get("free")?.mark}</span> ${words}</a>`}${where.length > 0 && ": "}
        <span class="where">
            ${where.slice(0, NAMED).map(({ node, free: n }, i) => [i > 0 && ", ", html`<span>${n} on <a href="/node/${encodeURIComponent(node.name)}">${nodeName(node)}</a></span>`])}
            ${rest > 0 && [", ", html`<span>${rest} on ${count(where.length - NAMED, "other node")}</span>`]}
        </span>
    </h1>`;
}

/** A state's count is a link that filters by it. @param {{ word: string, of?: string, n: number, title?: string, children?: any }} props */
function Count({ word, of = word, n, title, children }) {
    if (!n) return null;
    const { mark, meaning } = stateOf.get(of) ?? {};
    return html`<li><a class="count ${of}" href=${filtered(word)} title=${title ?? meaning} aria-current=${chosen() === word}><span class="mark">${mark}</span> ${n} ${word}</a>${children}</li>`;
}

/** bars: cells have them, and what they mean is said. @param {{ nodes: Node[], sum: Tally, bars: boolean }} props */
export function Counts({ nodes, bars, sum: { by, broken, work, idle, idleCost, power: watts } }) {
    const kinds = [...stateOf.keys()].filter((word) => by[word] && !isFresh({ state: word }));
    return html`<ul class="counts" aria-label="GPUs by state">
        <${Count} word="busy" n=${by.busy ?? 0}>${work !== undefined && html`, <span title="mean utilisation of the busy GPUs: at any moment so many of them work">${percent(work)} of them at work</span>`}<//>
        <${Count} word="held" n=${by.held ?? 0}>
            ${idle > 0 && html`, <a href=${filtered("held idle>2h")} title="held without work for two hours or longer">${idle} idle for 2 h</a>`}
            ${idleCost > 0 && html`, <span title="what these cost since they last worked">${idleCost.toFixed(2)} ${live.currency}</span>`}
        <//>
        <${Count} word="unknown" n=${by.unknown ?? 0} />
        <${Count} word="broken" of=${kinds.length === 1 ? kinds[0] : "hung"} n=${broken} title="stale, hung or lost">
            ${kinds.map((word, i) => html`${i ? ", " : ": "}<a class=${word} href=${filtered(word)} title=${stateOf.get(word)?.meaning}>${kinds.length > 1 && `${by[word]} `}${word}</a>`)}
        <//>
        ${watts > 0 && html`<li title="what all GPUs that are heard of take">${power(watts)}</li>`}
        <li class="dim">${count(nodes.length, "node")}</li>
        ${bars && html`<li class="dim legend" aria-hidden="true"><span class="bar work"><i /></span> use <span class="bar memory"><i /></span> memory</li>`}
    </ul>`;
}
