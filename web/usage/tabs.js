/* tabs.js: the three views of what was counted, each one click from the others. */
import { html } from "../kit/html.js";
import { place } from "../kit/router.js";

const TABS = [["/usage", "who used how much"], ["/trends", "over weeks and months"], ["/reports", "reports"]];

export function Tabs() {
    return html`<nav class="tabs" aria-label="Usage">${TABS.map(([path, words]) => html`<a href=${path} aria-current=${place.path === path ? "page" : null}>${words}</a>`)}</nav>`;
}
