/* events.js: a list of events in words, newest first. */
import { exactTime, time } from "../kit/format.js";
import { html } from "../kit/html.js";

/** @typedef {import("../kit/types").EventRecord} EventRecord */

/** @param {EventRecord} e */
function inWords(e) {
    const what = e.kind === "xid" ? `Xid ${e.code}${e.meaning ? `: ${e.meaning}` : ""}` : e.kind.replaceAll("_", " ");
    return e.text && e.text !== e.meaning ? `${what}: ${e.text}` : what;
}

/** nodes: say which node it was. @param {{ events: EventRecord[], nodes?: boolean, label: string }} props */
export function Events({ events, nodes = false, label }) {
    return html`<section class="events" aria-label=${label}>
        <h2>${label}</h2>
        ${!events.length && html`<p class="dim">nothing in this time</p>`}
        ${events.length > 0 && html`<ol>${events.map(
            (e) => html`<li key=${`${e.at} ${e.kind} ${e.device} ${e.code}`}>
                <time title=${exactTime(e.at)}>${time(e.at)}</time>
                <span>${nodes && e.node && html`<a href="/node/${encodeURIComponent(e.node)}">${e.node}</a> `}${inWords(e)}</span>
            </li>`,
        )}</ol>`}
    </section>`;
}
