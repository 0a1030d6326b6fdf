/* tabs.js: the three views of what was counted, each one click from the others. */
import { html } from "../kit/html.js";
import { place } from "../kit/router.js";
import { say } from "./words.en.js";

const TABS = [["/usage", say.whoUsed], ["/trends", say.overWeeks], ["/reports", say.reports]];

export function Tabs() {
    return html`<nav class="tabs" aria-label=${say.usage}>${TABS.map(([path, words]) => html`<a href=${path} aria-current=${place.path === path ? "page" : null}>${words}</a>`)}</nav>`;
}
