/* events.js: a list of events in words, newest first. */
import { count, exactTime, time } from "../kit/format.js";
import { html } from "../kit/html.js";

/** @typedef {import("../kit/types").EventRecord} EventRecord */

/** Kinds after which somebody should look. */
export const TROUBLE = ["xid", "ecc", "lost", "hung", "down", "dropped", "refused"];

/** @param {EventRecord} e */
export const isTrouble = (e) => TROUBLE.includes(e.kind);

/** Kinds whose word alone says too little. @type {Record<string, (e: EventRecord) => string>} */
const WORDS = {
    start: () => "agent started",
    stop: () => "agent stopped",
    ecc: (e) => `${count(e.code, "memory error")} not corrected`,
};

/** @param {EventRecord} e */
function inWords(e) {
    const what = e.kind === "xid" ? `Xid ${e.code}${e.meaning ? `: ${e.meaning}` : ""}` : WORDS[e.kind]?.(e) ?? e.kind.replaceAll("_", " ");
    return e.text && e.text !== e.meaning ? `${what}: ${e.text}` : what;
}

/** Which node, or which of its GPUs. @param {EventRecord} e */
function where(e) {
    if (!e.node) return null;
    if (e.device && e.index !== undefined) return html`<a href="/gpu/${encodeURIComponent(e.device)}">${e.node}:${e.index}</a> `;
    return html`<a href="/node/${encodeURIComponent(e.node)}">${e.node}</a> `;
}

/** nodes: say which node it was. @param {{ events: EventRecord[], nodes?: boolean, label: string }} props */
export function Events({ events, nodes = false, label }) {
    return html`<section class="events" aria-label=${label}>
        ${!nodes && html`<h2>${label}</h2>`}
        ${!events.length && html`<p class="dim">nothing in this time</p>`}
        ${events.length > 0 && html`<ol>${events.map(
            (e) => html`<li key=${`${e.at} ${e.kind} ${e.device} ${e.code}`}>
                <time title=${exactTime(e.at)}>${time(e.at)}</time>
                <span>${nodes && where(e)}${isTrouble(e) && html`<span class="hung"><span class="mark" role="img" aria-label="trouble">✕</span></span> `}${inWords(e)}</span>
            </li>`,
        )}</ol>`}
    </section>`;
}
