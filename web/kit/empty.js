/* empty.js: what is shown where there is nothing to show: why that is so, and what to do about it. */
import { html } from "./html.js";
import { live } from "./live.js";
import { href, place } from "./router.js";

/** @param {{ title: string, children?: any }} props */
export function Empty({ title, children }) {
    return html`<div class="empty"><h2>${title}</h2>${children}</div>`;
}

export function NoNodes() {
    return html`<${Empty} title="Add the first one">
        <ol>
            <li>Make a token on the hub: <code>muster token new --role enroll</code></li>
            <li>Run on the machine to add: <code>curl -fsS ${location.origin}/install | sh -s -- TOKEN</code></li>
        </ol>
        <p class="dim">The node appears here as soon as it reports. No reload is needed.</p>
    <//>`;
}

export function NoMatch() {
    const all = href(place.path, { ...Object.fromEntries(place.query), filter: undefined });
    return html`<${Empty} title="The filter matches nothing">
        <p>None of ${live.of ?? 0} GPUs fits <code>${live.filter}</code> just now${live.words && ` (${live.words})`}. What fits later appears by itself.</p>
        <p><a href=${all}>Show all GPUs</a></p>
    <//>`;
}

export function Refused() {
    return html`<${Empty} title=${live.problem?.status === 401 ? "This hub wants to know who reads" : "The hub does not answer this"}>
        <p>${live.problem?.detail}</p>
    <//>`;
}
