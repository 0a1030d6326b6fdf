/* lane.js: one GPU's time: what is booked, as bars one can take hold of, and under them who was really on it. */
import { stateName, stateOf } from "../kit/facts.js";
import { COMMA, exactTime, moment, span } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { devicesOf, holderOf, indexOf, modelName, nodeName } from "../kit/model.js";
import { mayChange, placeOf, useAt, useOf } from "./bookings.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Booking} Booking */
/** @typedef {import("../kit/types").Span} Span */
/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */

/** The time shown. @typedef {{ from: number, to: number }} Time */

/** @param {Time} time @param {number} a @param {number} b */
export function put({ from, to }, a, b) {
    const share = (/** @type {number} */ t) => (100 * (Math.min(Math.max(t, from), to) - from)) / (to - from);
    return { left: `${share(a)}%`, width: `${Math.max(share(b) - share(a), 0.2)}%` };
}

/** Everything about it, in one sentence. @param {Booking} b */
export function bookingWords(b) {
    const use = useOf(b);
    return `${say.bookedBy(placeOf(b), b.person)}, ${say.fromTo(exactTime(b.from), exactTime(b.until))} (${span(b.until - b.from)})${b.comment ? `: ${b.comment}` : ""}${use ? `; ${b.use === "unused" ? say.bookedUnused : use}` : ""}`;
}

/** How far its words may go: up to what comes next, in shares of the track. @param {Booking} b @param {Booking[]} all @param {Time} time */
function wordsWidth(b, all, time) {
    const next = Math.min(time.to, ...all.flatMap((o) => (o.from > b.from ? [o.from] : [])));
    return `calc(${put(time, b.from, next).width.replace("%", "cqw")} - 12px)`;
}

/** Own ones that are not over can be taken hold of at their ends. @param {{ b: Booking, all: Booking[], uuid: string, time: Time, open: (b: Booking) => void }} props */
export function Bar({ b, all, uuid, time, open }) {
    const { use, words } = useAt(b, uuid);
    const grips = mayChange(b);
    return html`<button type="button" class="booking ${b.state} ${b.mine ? "mine" : ""} ${use ?? ""}" data-id=${b.id} style=${put(time, b.from, b.until)} title=${bookingWords(b)} aria-label=${bookingWords(b)}
        onClick=${(/** @type {Event} */ e) => {
            e.stopPropagation();
            open(b);
        }}>
        ${grips && b.state === "planned" && b.from >= time.from && html`<i data-grip="from" />`}
        <span style=${{ maxWidth: wordsWidth(b, all, time) }}>${b.person}${words ? html` <em>${words}</em>` : ""}${b.comment ? ` · ${b.comment}` : ""}</span>
        ${grips && b.until <= time.to && html`<i data-grip="until" />`}
    </button>`;
}

/** A stretch somebody was on it, in pieces: in a booking of somebody else's it is said so. @param {Span} s @param {Booking[]} booked @param {number} now */
function pieces(s, booked, now) {
    const end = s.there ? now : s.last;
    const all = [{ from: s.first, until: end, whose: "" }];
    for (const b of booked) {
        if (b.person === s.user || useAt(b, s.device).use === "own" || b.from >= end || b.until <= s.first) continue;
        all.push({ from: Math.max(s.first, b.from), until: Math.min(end, b.until), whose: b.person });
    }
    return all;
}

/** @param {{ spans: Span[], booked: Booking[], time: Time }} props */
function Used({ spans, booked, time }) {
    const now = hubNow();
    return spans.flatMap((s) =>
        pieces(s, booked, now).map(({ from, until, whose }) => {
            const who = s.user ?? say.somebody;
            const words = say.usedWhile(`${who}${s.program ? ` (${s.program})` : ""}`, span(until - from), exactTime(from), whose);
            return html`<i class="used ${whose ? "not-theirs" : ""}" style=${put(time, from, until)} title=${words} />`;
        }),
    );
}

/**
 * @param {{ d: Device, n: Node, booked: Booking[], spans: Span[], time: Time, first: boolean, draft: { from: number, until: number } | null, open: (b: Booking) => void, begin: (uuid: string) => void }} props
 * draft: what is being dragged out
 */
export function Lane({ d, n, booked, spans, time, first, draft, open, begin }) {
    return html`<div class="book-row" role="group" aria-label="${nodeName(n)} GPU ${indexOf(d)}">
        <button type="button" class="book-name ${d.state}" data-uuid=${d.uuid} tabindex=${first ? 0 : -1} title="${nodeName(n)} GPU ${indexOf(d)}, ${modelName(d)}, ${stateName(d.state)}: ${say.bookIt}" aria-label="${nodeName(n)} GPU ${indexOf(d)}, ${stateName(d.state)}: ${say.bookIt}" onClick=${() => begin(d.uuid)}>
            <span class="index">${indexOf(d)}</span> <span class="mark">${stateOf.get(d.state)?.mark}</span> <span class="dim">${holderOf(d)}</span>
        </button>
        <div class="book-track" data-track=${d.uuid} data-node=${n.id}>
            <${Used} spans=${spans} booked=${booked} time=${time} />
            ${booked.map((b) => html`<${Bar} key=${b.id} b=${b} all=${booked} uuid=${d.uuid} time=${time} open=${open} />`)}
            ${draft && html`<span class="booking draft" style=${put(time, draft.from, draft.until)}><span>${moment(draft.from, hubNow())} – ${moment(draft.until, hubNow())}</span></span>`}
        </div>
    </div>`;
}

/** "8 busy", "6 stale, 2 lost" @param {Device[]} devices */
function statesOf(devices) {
    /** @type {Map<string, number>} */
    const by = new Map();
    for (const d of devices) by.set(d.state, (by.get(d.state) ?? 0) + 1);
    return [...by].map(([state, n], i) => html`${i > 0 && COMMA}<span class=${state}><span class="mark">${stateOf.get(/** @type {any} */ (state))?.mark}</span> ${say.many(n, stateName(state))}</span>`);
}

/** A node whose GPUs are folded away: its bookings one under the other; without any, what its GPUs do. @param {{ n: Node, by: Map<string, Booking[]>, time: Time }} props */
export function Folded({ n, by, time }) {
    const devices = devicesOf(n);
    if (!devices.some((d) => by.has(d.uuid))) return html`<div class="book-track folded dim">${statesOf(devices)}</div>`;
    return html`<div class="book-track folded" aria-hidden="true">
        ${devices.flatMap((d, i) =>
            (by.get(d.uuid) ?? []).map((b) => html`<i class="${b.state} ${b.mine ? "mine" : ""}" title=${bookingWords(b)}
                style=${{ ...put(time, b.from, b.until), top: `${(100 * i) / devices.length}%`, height: `${Math.max(100 / devices.length, 8)}%` }} />`),
        )}
    </div>`;
}
