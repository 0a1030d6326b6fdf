/* cell.js: one GPU: its number, the mark of its state, whose it is, how much it works, and bars of work and memory. It
 * is made anew only when something it shows changed. What hovering tells is details.js. */
import { stateName, stateOf } from "../kit/facts.js";
import { minute, percent, UNKNOWN } from "../kit/format.js";
import { html, keyed } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { fullness, holderOf, indexOf, isFresh, isReserved, usersOf } from "../kit/model.js";
import { level } from "./host.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Device} Device */

const SOON_MS = 24 * 3600 * 1000; /* a booking to come is said of a free GPU */

/** @param {number | undefined} v */
const step = (v) => (v === undefined ? -1 : Math.round(v * 100));

/** The words beside the mark. @param {Device} d */
function caption(d) {
    if (d.state === "held" || d.state === "busy") return holderOf(d) || stateName(d.state);
    return say.short[d.state] ?? stateName(d.state);
}

/** Until when a free GPU is free, if that is less than a day. @param {Device} d */
function freeUntil(d) {
    const from = d.state === "free" && d.next ? d.next.from : Infinity;
    return from - hubNow() < SOON_MS ? minute(from) : "";
}

/** Who has booked what somebody is on: null where nobody has; "" where that is who is on it. @param {Device} d */
function booker(d) {
    if (!d.booking || isReserved(d) || !isFresh(d)) return null;
    const { person } = d.booking;
    return usersOf(d).some((u) => u.user === person) ? "" : person;
}

/** What stands at its end. @param {Device} d */
function atEnd(d) {
    if (isReserved(d)) return say.booked;
    if (d.state !== "held" && d.state !== "busy") return freeUntil(d) && say.freeTo(freeUntil(d));
    return d.metrics.util === undefined ? UNKNOWN : percent(d.metrics.util);
}

/** @param {Device} d */
export function cellKey(d) {
    return `${d.uuid} ${d.index} ${d.state} ${caption(d)} ${isReserved(d)} ${booker(d)} ${freeUntil(d)} ${step(d.metrics.util)} ${step(fullness(d))} ${d.service}`;
}

/** For those who do not see it. @param {Device} d @param {string} node */
function label(d, node) {
    const who = holderOf(d);
    const parts = [`${node} GPU ${indexOf(d)}: ${stateName(d.state)}${freeUntil(d) && ` ${say.freeUntil(freeUntil(d))}`}${isReserved(d) ? `, ${say.bookedBy(who)}` : who ? `, ${who}` : ""}`];
    if (isFresh(d) && d.metrics.util !== undefined) parts.push(say.used(percent(d.metrics.util)));
    if (d.booking && booker(d) !== null) parts.push(say.bookedBy(d.booking.person));
    const full = fullness(d);
    if (isFresh(d) && full !== undefined) parts.push(say.full(percent(full)));
    if (d.service) parts.push(say.needsService(d.service));
    return parts.join(", ");
}

/** @param {{ kind: string, v: number | undefined }} props */
function Bar({ kind, v }) {
    return html`<span class="bar ${kind} ${level("gpu", v)}" style=${{ backgroundSize: v === undefined ? "" : `${step(v)}% 100%` }} />`;
}

/** first: the one that Tab reaches; the arrows lead to the others. */
export const Cell = keyed(
    /** @param {{ d: Device, node: string, first?: boolean }} props node: what screens call it */
    ({ d, node, first }) => {
        const fresh = isFresh(d);
        const by = booker(d);
        const end = by ? "" : atEnd(d); /* another's booking is more than how much it works, which the bar says too */
        return html`<a class="cell ${d.state} ${by ? "flagged" : ""}" href="/gpu/${encodeURIComponent(d.uuid)}" data-uuid=${d.uuid} tabindex=${first ? 0 : -1} aria-label=${label(d, node)}>
            <span class="line">
                <span class="index">${indexOf(d)}</span>
                <span class="mark">${stateOf.get(d.state)?.mark}</span>
                <span class="who">${caption(d)}</span>
                ${by !== null && html`<span class="flag">⚑</span>`}
                ${by && html`<span class="booker">${by}</span>`}
                ${end && html`<span class="use">${end}</span>`}
            </span>
            <${Bar} kind="work" v=${fresh ? d.metrics.util : undefined} />
            <${Bar} kind="memory" v=${fresh ? fullness(d) : undefined} />
        </a>`;
    },
    ({ d, node, first }) => `${cellKey(d)} ${node} ${first}`,
);
