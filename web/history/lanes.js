/* lanes.js: who was on it: a lane for each person, under the charts and on their time axis. */
import { Cross } from "../kit/cross.js";
import { bytes, exactTime, span, time } from "../kit/format.js";
import { html } from "../kit/html.js";
import { Person } from "../kit/person.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Span} Span */

const LANES = 12; /* the busiest; the rest is a number */

/** A person; else a login that is nobody's. @param {Span} s */
const nameOf = (s) => s.person ?? s.user ?? say.unknown;

/** A stretch not over yet goes on until now; on a GPU that is not seen any more, until it was. @param {Span} s @param {number} to */
const endOf = (s, to) => (s.there ? to : s.last);

/** @param {Span[]} spans @param {number} from @param {number} to */
function lanesOf(spans, from, to) {
    /** @type {Map<string, { name: string, somebody: boolean, spans: Span[], ms: number }>} */
    const lanes = new Map();
    for (const s of spans) {
        const name = nameOf(s);
        const lane = lanes.get(name) ?? { name, somebody: !!s.person, spans: [], ms: 0 };
        lane.spans.push(s);
        lane.ms += Math.max(0, Math.min(endOf(s, to), to) - Math.max(s.first, from));
        lanes.set(name, lane);
    }
    return [...lanes.values()].sort((a, b) => b.ms - a.ms || (a.name < b.name ? -1 : 1));
}

/** @param {Span} s @param {number} from @param {number} to */
function Stretch(s, from, to) {
    const share = (/** @type {number} */ t) => (100 * (Math.min(Math.max(t, from), to) - from)) / (to - from);
    const left = share(s.first);
    const width = Math.max(share(endOf(s, to)) - left, 0.15);
    const words = [`${nameOf(s)}${s.program ? `, ${s.program}` : ""}: ${say.spanFrom(span(endOf(s, to) - s.first), exactTime(s.first))}`, !s.ended && (s.there ? say.stillThere : say.notHeardSince), s.memory_max && say.upTo(bytes(s.memory_max))].filter(Boolean).join(", ");
    return html`<i style=${{ left: `${left}%`, width: `${width}%` }} title=${words} />`;
}

/** Who was there then, each once. @param {Span[]} spans @param {number} moment @param {number} to */
function atMoment(spans, moment, to) {
    const there = spans.filter((s) => s.first <= moment && moment <= endOf(s, to));
    return [...new Set(there.map((s) => `${nameOf(s)}${s.program ? ` (${s.program})` : ""}`))].join(", ") || say.nobody;
}

/** @param {{ spans: Span[], more: boolean, from: number, to: number, moment?: number }} props */
export function Lanes({ spans, more, from, to, moment }) {
    const lanes = lanesOf(spans, from, to);
    return html`<section class="lanes" aria-label=${say.whoWas}>
        <h2>${say.whoWas} ${moment !== undefined && html`<span class="dim">${atMoment(spans, moment, to)}, ${time(moment)}</span>`}</h2>
        ${!lanes.length && html`<p class="dim">${say.nobodyNoticed}</p>`}
        ${lanes.slice(0, LANES).map(
            (l) => html`<div class="lane" key=${l.name}>
                <span class="lane-name" title=${l.name}>${l.somebody ? html`<${Person} name=${l.name} />` : l.name}</span>
                <span class="track" role="img" aria-label="${l.name}: ${say.inAll(span(l.ms))}">${l.spans.map((s) => Stretch(s, from, to))}<${Cross} moment=${moment} from=${from} to=${to} /></span>
            </div>`,
        )}
        ${lanes.length > LANES && html`<p class="dim">${say.morePeople(lanes.length - LANES)}</p>`}
        ${more && html`<p class="dim">${say.tooMuch}</p>`}
    </section>`;
}
