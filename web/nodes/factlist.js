/* factlist.js: a list of names and values; what is not known is left out. */
import { html } from "../kit/html.js";

/** @param {{ rows: [string, unknown][], label: string }} props */
export function FactList({ rows, label }) {
    const known = rows.filter(([, v]) => v !== undefined && v !== null && v !== "");
    return html`<dl class="facts" aria-label=${label}>${known.map(([name, v]) => html`<div><dt>${name}</dt><dd>${v}</dd></div>`)}</dl>`;
}
