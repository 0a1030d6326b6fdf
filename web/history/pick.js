/* pick.js: the list one picks metrics from that are drawn. It offers what the hub knows; the choice stands in the URL. */
import { facts } from "../kit/facts.js";
import { html } from "../kit/html.js";
import { setQuery } from "../kit/router.js";
import { helps } from "./helps.js";
import { say } from "./words.en.js";

/** @param {{ scope: "device" | "node", names: string[], usual: string[] }} props */
export function Pick({ scope, names, usual }) {
    /** @param {string} name */
    function flip(name) {
        const next = names.includes(name) ? names.filter((n) => n !== name) : [...names, name];
        setQuery({ m: `${next}` === `${usual}` || !next.length ? undefined : next.join() });
    }
    return html`<details class="pick">
        <summary>${say.metrics}</summary>
        <div class="options">
            ${facts.metrics
                .filter((m) => m.scope === scope && m.unit !== "mask")
                .map((m) => html`<label title=${helps.get(m.name)}><input type="checkbox" checked=${names.includes(m.name)} onChange=${() => flip(m.name)} /> ${m.label}</label>`)}
        </div>
    </details>`;
}
