/* node.js: a node with its cells, as a row or as a card; and as a tile of marks for clusters that fill a screen. */
import { stateName, stateOf } from "../kit/facts.js";
import { metric, spanShort, UNKNOWN } from "../kit/format.js";
import { html, keyed } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { devicesOf, holderOf, indexOf, isFresh, modelBrief, modelOf, nodeName } from "../kit/model.js";
import { useTick } from "../kit/use.js";
import { Cell } from "./cell.js";
import { diskNote, heardOf, hostShares } from "./host.js";
import { nodeLabel, nodeTrouble } from "./sentences.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */

/** @param {{ heard?: number, old?: number }} props */
export function Age({ heard, old = 15000 }) {
    useTick();
    if (heard === undefined) return html`<span class="age">${say.neverHeard}</span>`;
    const ms = Math.max(0, hubNow() - heard);
    return html`<span class="age ${ms > old ? "old" : ""}">${say.ago(spanShort(ms))}</span>`;
}

/** @param {Node} n */
const nodeHref = (n) => `/node/${encodeURIComponent(n.name)}`;

/** " ×8"; with a filter that leaves some out " 6 of 8". @param {Node} n @param {number} count */
function howMany(n, count) {
    if (n.of) return ` ${say.someOf(count, n.of)}`;
    return count > 1 ? ` ×${count}` : "";
}

/** @param {{ n: Node, count: number }} props */
export function Head({ n, count }) {
    const model = modelOf(n);
    const full = n.devices[0]?.display ? n.devices[0].name : model;
    const load = n.metrics.load1;
    const shares = hostShares(n);
    return html`<div class="head">
        <span class="title"><a class="name" href=${nodeHref(n)} title=${n.name}>${nodeName(n)}</a> <span class="dim" title=${full}><span class="wide">${model}</span><span class="brief">${modelBrief(n)}</span>${howMany(n, count)}</span></span>
        ${shares.length > 0 && html`<span class="dim load shares" title=${diskNote(n)}>${shares.map((s) => html`<span class=${s.level}>${s.name} ${s.text}</span> `)}</span>`}
        ${!shares.length && load !== undefined && n.state === "up" && html`<span class="dim load">${say.load} ${metric("load1", Math.round(load))}${n.cpus ? `/${n.cpus}` : ""}</span>`}
    </div>`;
}

/** As a row and as a card it is the same; the style sheet lays it out. */
export const NodeBox = keyed(
    /** @param {{ n: Node, card?: boolean }} props */
    ({ n, card }) => {
        const devices = devicesOf(n);
        const trouble = nodeTrouble(n);
        return html`<section class="node ${card ? "card" : "row"} ${n.state}" aria-label=${nodeLabel(n, devices)}>
            <${Head} n=${n} count=${devices.length} />
            <div class="body">
                ${trouble && html`<p class="trouble">${trouble}</p>`}
                ${devices.length > 0 && html`<div class="cells">${devices.map((d, i) => html`<${Cell} key=${d.uuid} d=${d} node=${nodeName(n)} first=${i === 0} />`)}</div>`}
            </div>
            <${Age} ...${heardOf(n)} />
        </section>`;
    },
    ({ n, card }) => `${n.id} ${n.version} ${n.heard} ${devicesOf(n).length} ${card}`,
);

/** Who has booked it, whoever is on it. @param {import("../kit/types").Device} d */
const bookedBy = (d) => (isFresh(d) && d.booking?.person) || "";

/** @param {Node} n */
function tileKey(n) {
    return `${n.id} ${n.name} ${n.state} ${devicesOf(n).map((d) => `${d.state[0]}${d.state[1]}${holderOf(d)} ${bookedBy(d)}`).join()}`;
}

/** Every GPU a mark, underlined where it is booked. */
export const NodeTile = keyed(
    /** @param {{ n: Node }} props */
    ({ n }) => {
        const devices = devicesOf(n);
        return html`<section class="node tile ${n.state}" aria-label=${nodeLabel(n, devices)}>
            <a class="name" href=${nodeHref(n)} title=${n.display ? n.name : ""}>${nodeName(n)}</a>
            <div class="marks">
                ${devices.map((d, i) => {
                    const by = bookedBy(d);
                    const who = [holderOf(d), by && say.bookedBy(by)].filter(Boolean).join(", ");
                    return html`<a key=${d.uuid} class="dot ${d.state} ${by ? "flagged" : ""}" href="/gpu/${encodeURIComponent(d.uuid)}" data-uuid=${d.uuid} tabindex=${i ? -1 : 0} aria-label="${nodeName(n)} GPU ${indexOf(d)}: ${stateName(d.state)}${who ? `, ${who}` : ""}">${stateOf.get(d.state)?.mark}</a>`;
                })}
                ${!devices.length && html`<span class="dim">${UNKNOWN}</span>`}
            </div>
        </section>`;
    },
    ({ n }) => tileKey(n),
);
