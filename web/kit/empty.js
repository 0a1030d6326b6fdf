/* empty.js: what is shown where there is nothing to show: why that is so, and what to do about it. */
import { useEffect, useState } from "preact/hooks";
import { ask } from "./api.js";
import { html } from "./html.js";
import { live } from "./live.js";
import { href, place } from "./router.js";
import { say } from "./words.en.js";

/** @param {{ title: string, children?: any }} props */
export function Empty({ title, children }) {
    return html`<div class="empty"><h2>${title}</h2>${children}</div>`;
}

/** What the hub says of adding a node; null: not yet. @returns {{ command?: string, why?: "loopback" | "container" } | null} */
export function useInstall() {
    const [install, setInstall] = useState(/** @type {any} */ (null));
    useEffect(() => {
        ask("/api/v1/install").then(setInstall, () => {}); /* the banner says that the hub is away */
    }, []);
    return install;
}

/** Why other machines cannot reach the hub, and what to set. @param {{ why: "loopback" | "container" }} props */
export function Unreachable({ why }) {
    return html`<p>${why === "loopback" ? say.onlyHere(html`<code>--listen 0.0.0.0:8765</code>`, html`<code>--address</code>`) : say.onlyInside(html`<code>--address http://HOST:8765</code>`)}</p>`;
}

export function NoNodes() {
    const install = useInstall();
    if (install?.why) return html`<${Empty} title=${say.addFirst}><${Unreachable} why=${install.why} /><//>`;
    return html`<${Empty} title=${say.addFirst}>
        <ol>
            <li>${say.makeToken} <code>muster token new --role enroll</code></li>
            <li>${say.runThere} <code>${install?.command}</code></li>
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
