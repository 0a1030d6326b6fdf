/* empty.js: what is shown where there is nothing to show: why that is so, and what to do about it. */
import { html } from "./html.js";
import { live } from "./live.js";
import { href, place } from "./router.js";
import { say } from "./words.en.js";

/** @param {{ title: string, children?: any }} props */
export function Empty({ title, children }) {
    return html`<div class="empty"><h2>${title}</h2>${children}</div>`;
}

export function NoNodes() {
    return html`<${Empty} title=${say.addFirst}>
        <ol>
            <li>${say.makeToken} <code>muster token new --role enroll</code></li>
            <li>${say.runThere} <code>curl -fsS ${location.origin}/install | sh -s -- TOKEN</code></li>
        </ol>
        <p class="dim">${say.appears}</p>
    <//>`;
}

export function NoMatch() {
    const all = href(place.path, { ...Object.fromEntries(place.query), filter: undefined });
    return html`<${Empty} title=${say.matchesNothing}>
        <p>${say.noneFits(live.of ?? 0, html`<code>${live.filter}</code>`, live.words && ` (${live.words})`)}</p>
        <p><a href=${all}>${say.showAll}</a></p>
    <//>`;
}

/** Not for 401: the page shows the login form then (app.js). */
export function Refused() {
    if (live.problem?.status === 401) return null;
    return html`<${Empty} title=${say.notAnswered}>
        <p>${live.problem?.detail}</p>
    <//>`;
}
