/* range.js: the buttons that say how far back the charts go. */
import { exactTime } from "../kit/format.js";
import { html } from "../kit/html.js";
import { setQuery } from "../kit/router.js";
import { RANGES } from "./history.js";
import { say } from "./words.en.js";

/** @param {{ range: string, from: number, to: number }} props */
export function Range({ range, from, to }) {
    return html`<div class="range" role="group" aria-label=${say.howFarBack}>
        ${RANGES.map(([name]) => html`<button type="button" aria-pressed=${name === range} onClick=${() => setQuery({ range: name, from: undefined, to: undefined }, true)}>${say.ranges[name] ?? name}</button>`)}
        ${!range && html`<span class="dim">${exactTime(from)} – ${exactTime(to)}</span>
            <button type="button" onClick=${() => setQuery({ from: undefined, to: undefined }, true)}>${say.upToNow}</button>`}
    </div>`;
}
