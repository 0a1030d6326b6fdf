/* list.js: the bookings of the days shown as a list: the same as the calendar, for those who would rather read; and who is in line for a GPU. */
import { session } from "../access/session.js";
import { exactTime, moment, span, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { Person } from "../kit/person.js";
import { look, mayChange, placeOf, useOf } from "./bookings.js";
import { leave, thingOf } from "./line.js";
import { tell } from "./over.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Booking} Booking */
/** @typedef {import("../kit/types").Problem} Problem */
/** @typedef {import("../kit/types").Wait} Wait */

const MANY = 100;

/** open: to change one; without it they are only told. @param {{ rows: Booking[], open?: (b: Booking) => void, title?: string }} props */
export function BookList({ rows, open, title = say.ofThisTime }) {
    const now = hubNow();
    const shown = rows.slice(0, MANY);
    return html`<section class="book-list" aria-label=${say.bookings}>
        <h2>${title}</h2>
        ${!rows.length && html`<p class="dim">${say.none}</p>`}
        ${rows.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label=${title}><table class="list">
            <thead><tr><th scope="col">${say.who}</th><th scope="col">${say.gpusHead}</th><th scope="col">${say.from}</th><th scope="col">${say.until}</th><th scope="col" class="num">${say.howLong}</th><th scope="col">${say.whatFor}</th><th scope="col">${say.use}</th><td></td></tr></thead>
            <tbody>${shown.map(
                (b) => html`<tr key=${b.id} class=${b.state}>
                    <th scope="row"><${Person} name=${b.person} /></th>
                    <td>${placeOf(b)}</td>
                    <td title=${exactTime(b.from)}>${moment(b.from, now)}</td>
                    <td title=${exactTime(b.until)}>${moment(b.until, now)}</td>
                    <td class="num">${span(b.until - b.from)}</td>
                    <td class="words">${b.comment || ""}</td>
                    <td>${b.state === "planned" ? "" : b.use ? useOf(b) || say.inUse : UNKNOWN}</td>
                    <td>${open && mayChange(b) && html`<button type="button" aria-label=${say.changeThis(placeOf(b))} onClick=${() => open(b)}>${say.change}</button>`}</td>
                </tr>`,
            )}</tbody>
        </table></div>`}
        ${rows.length > MANY && html`<p class="dim">${say.more(rows.length - MANY)}</p>`}
    </section>`;
}

/** me: whom the hub takes us for. @param {{ waits: Wait[], me: string | null }} props */
export function InLine({ waits, me }) {
    if (!waits.length) return null;
    const now = hubNow();
    const out = (/** @type {Wait} */ w) => void leave(w).then(look, (/** @type {Problem} */ e) => tell(e.detail));
    return html`<section class="book-list" aria-label=${say.inLine}>
        <h2>${say.inLineFor}</h2>
        <div class="scroll" tabindex="0" role="region" aria-label=${say.whoInLine}><table class="list">
            <thead><tr><th scope="col">${say.who}</th><th scope="col">${say.waitFor}</th><th scope="col" class="num">${say.since}</th><th scope="col">${say.now}</th><td></td></tr></thead>
            <tbody>${waits.map(
                (w) => html`<tr key=${w.id}>
                    <th scope="row"><${Person} name=${w.person} /></th>
                    <td>${thingOf(w)}</td>
                    <td class="num" title=${exactTime(w.since)}>${span(now - w.since)}</td>
                    <td>${w.state === "yours" ? say.theirsUntil(moment(w.until ?? 0, now)) : w.ahead ? say.before(w.ahead) : say.next}</td>
                    <td>${(w.person === me || session.role === "admin") && html`<button type="button" aria-label=${w.state === "yours" ? say.giveBackThis(thingOf(w)) : say.leaveThis(thingOf(w))} onClick=${() => out(w)}>${w.state === "yours" ? say.giveBack : say.leave}</button>`}</td>
                </tr>`,
            )}</tbody>
        </table></div>
    </section>`;
}
