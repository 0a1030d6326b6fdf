/* answer.js: the head of Now: which GPUs are free and where, and what all the others do. It is what `muster ls` says first (src/model/now.c). */
import { stateName, stateOf } from "../kit/facts.js";
import { COMMA, number, percent, power } from "../kit/format.js";
import { html } from "../kit/html.js";
import { live } from "../kit/live.js";
import { nodeName } from "../kit/model.js";
import { href, place } from "../kit/router.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {ReturnType<typeof import("../kit/model.js").tally>} Tally */

const NAMED = 6; /* nodes; the rest is a number */

/** The same view with another filter, or without it where it is this one. @param {string} filter */
const filtered = (filter) => href(place.path, { ...Object.fromEntries(place.query), filter: filter === chosen() ? "" : filter });
const chosen = () => (place.query.get("filter") ?? "").trim();

/** @param {{ nodes: Node[], sum: Tally }} props */
export function Answer({ nodes, sum: { devices, by, where } }) {
    if (!nodes.length && live.status === "lost") return html`<h1>${say.notKnown}</h1>`;
    if (!nodes.length) return html`<h1>${live.filter ? say.nothingOf(live.of ?? 0) : say.noNodes}</h1>`;
    const free = by.free ?? 0;
    const rest = where.slice(NAMED).reduce((n, w) => n + w.free, 0);
    const words = live.filter ? say.matching(devices, live.of, live.words && ` (${live.words})`, free) : !devices ? say.noGpus : say.freeOf(free, devices);
    return html`<h1>
        ${live.filter || !free ? words : html`<a class="free" href=${filtered("free")} title=${stateOf.get("free")?.meaning}><span class="mark">${stateOf.get("free")?.mark}</span> ${words}</a>`}${where.length > 0 && ": "}
        <span class="where">
            ${where.slice(0, NAMED).map(({ node, free: n }, i) => [i > 0 && COMMA, html`<span>${say.on(n, html`<a href="/node/${encodeURIComponent(node.name)}">${nodeName(node)}</a>`)}</span>`])}
            ${rest > 0 && [COMMA, html`<span>${say.onOthers(rest, where.length - NAMED)}</span>`]}
        </span>
    </h1>`;
}

/** A state's count is a link that filters by it. @param {{ word: string, n: number, children?: any }} props */
function Count({ word, n, children }) {
    if (!n) return null;
    const { mark, meaning } = stateOf.get(word) ?? {};
    return html`<li><a class="count ${word}" href=${filtered(word)} title=${meaning} aria-current=${chosen() === word}><span class="mark">${mark}</span> ${say.many(n, stateName(word))}</a>${children}</li>`;
}

/** bars: cells have them, and what they mean is said. @param {{ nodes: Node[], sum: Tally, bars: boolean }} props */
export function Counts({ nodes, bars, sum: { by, util, idle, idleCost, power: watts } }) {
    return html`<ul class="counts" aria-label=${say.byState}>
        <${Count} word="busy" n=${by.busy ?? 0}>${util !== undefined && html`${COMMA}<span title=${say.usedMeans}>${say.utilisation(percent(util))}</span>`}<//>
        <${Count} word="held" n=${by.held ?? 0}>
            ${idle > 0 && html`${COMMA}<a href=${filtered("held idle>2h")} title=${say.idleMeans}>${say.idleLong(idle)}</a>`}
            ${idleCost > 0 && html`${COMMA}<span title=${say.costMeans}>${say.cost(`${number(idleCost, 2)} ${live.currency}`)}</span>`}
        <//>
        ${["unknown", "starting", "stale", "hung", "lost"].map((word) => html`<${Count} word=${word} n=${by[word] ?? 0} />`)}
        ${watts > 0 && html`<li title=${say.powerMeans}>${power(watts)}</li>`}
        <li class="dim">${say.nodes(nodes.length)}</li>
        ${bars && html`<li class="dim legend" aria-hidden="true"><span class="bar work" /> ${say.use} <span class="bar memory" /> ${say.memory}</li>`}
    </ul>`;
}
