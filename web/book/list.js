/* list.js: the bookings of the days shown as a list: the same as the calendar, for those who would rather read. */
import { exactTime, moment, span, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { mayChange, placeOf, useOf } from "./bookings.js";

/** @typedef {import("../kit/types").Booking} Booking */

const MANY = 100;

/** @param {{ rows: Booking[], open: (b: Booking) => void }} props */
export function BookList({ rows, open }) {
    const now = hubNow();
    const shown = rows.slice(0, MANY);
    return html`<section class="book-list" aria-label="Bookings">
        <h2>bookings of this time</h2>
        ${!rows.length && html`<p class="dim">None.</p>`}
        ${rows.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Bookings of this time"><table class="list">
            <thead><tr><th scope="col">who</th><th scope="col">GPUs</th><th scope="col">from</th><th scope="col">until</th><th scope="col" class="num">for</th><th scope="col">what for</th><th scope="col">use</th><td></td></tr></thead>
            <tbody>${shown.map(
                (b) => html`<tr key=${b.id} class=${b.state}>
                    <th scope="row">${b.person}</th>
                    <td>${placeOf(b)}</td>
                    <td title=${exactTime(b.from)}>${moment(b.from, now)}</td>
                    <td title=${exactTime(b.until)}>${moment(b.until, now)}</td>
                    <td class="num">${span(b.until - b.from)}</td>
                    <td class="words">${b.comment || ""}</td>
                    <td>${b.state === "planned" ? "" : b.use ? useOf(b) || "in use" : UNKNOWN}</td>
                    <td>${mayChange(b) && html`<button type="button" aria-label="change ${placeOf(b)}" onClick=${() => open(b)}>change</button>`}</td>
                </tr>`,
            )}</tbody>
        </table></div>`}
        ${rows.length > MANY && html`<p class="dim">and ${rows.length - MANY} more</p>`}
    </section>`;
}
