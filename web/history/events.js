/* events.js: a list of events in words, newest first. */
import { exactTime, time } from "../kit/format.js";
import { facts } from "../kit/facts.js";
import { html } from "../kit/html.js";
import { Said } from "../kit/said.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").EventRecord} EventRecord */

/** Kinds of what is done with bookings. */
export const BOOKINGS = ["booked", "rebooked", "released", "expired"];

/** Kinds after which somebody should look. */
export const TROUBLE = facts.trouble;

/** @param {EventRecord} e */
export const isTrouble = (e) => TROUBLE.includes(e.kind);

/** @param {EventRecord} e */
function inWords(e) {
    if (e.kind === "xid") return e.about;
    if (e.kind === "ecc") return say.eccErrors(e.code);
    const what = say.kinds[e.kind] ?? e.kind.replaceAll("_", " ");
    return e.text ? `${what}: ${e.text}` : what;
}

/** Whose booking it was, where it is one: "kim booked dgx2:0 until 14:00", "root booked dgx2:0 for kim until 14:00". @param {EventRecord} e */
const whose = (e) => (BOOKINGS.includes(e.kind) ? [/ for (\S+?),? (?:booked )?until /.exec(e.text)?.[1] ?? e.text.split(" ")[0]] : []);

/** Which node, or which of its GPUs. @param {EventRecord} e */
const placeOf = (e) => (e.device && e.index !== undefined ? `${e.node}:${e.index}` : e.node);

/** @param {EventRecord} e */
function where(e) {
    if (!e.node) return null;
    const to = e.device && e.index !== undefined ? `/gpu/${encodeURIComponent(e.device)}` : `/node/${encodeURIComponent(e.node)}`;
    return html`<a href=${to}>${placeOf(e)}</a> `;
}

/** nodes: say which node it was. @param {{ events: EventRecord[], nodes?: boolean, label: string }} props */
export function Events({ events, nodes = false, label }) {
    return html`<section class="events" aria-label=${label}>
        ${!nodes && html`<h2>${label}</h2>`}
        ${!events.length && html`<p class="dim">${say.nothingInTime}</p>`}
        ${events.length > 0 && html`<ol>${events.map(
            (e) => html`<li key=${`${e.at} ${e.kind} ${e.device} ${e.code}`}>
                <time title=${exactTime(e.at)}>${time(e.at)}</time>
                <span>${nodes && where(e)}${isTrouble(e) && html`<span class="hung"><span class="mark" role="img" aria-label=${say.trouble}>✕</span></span> `}<${Said} text=${inWords(e)} people=${whose(e)} here=${nodes ? placeOf(e) : undefined} /></span>
            </li>`,
        )}</ol>`}
    </section>`;
}
