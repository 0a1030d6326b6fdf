/* offer.js: what one can do about a GPU: book a free one; of one that is taken, be told when it is free. In the past nothing. */
import { session } from "../access/session.js";
import { html } from "../kit/html.js";
import { live } from "../kit/live.js";
import { siteHref, usersOf } from "../kit/model.js";
import { pref } from "../kit/prefs.js";
import { book, tellWhenFree } from "./book.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */

/** @param {Device} d */
function isMine(d) {
    const me = session.person ?? pref("person", "");
    return d.booking?.person === me || usersOf(d).some((u) => u.user === me);
}

/** @param {{ n: Node, d: Device }} props */
export function Offer({ n, d }) {
    if (live.at !== undefined || d.state === "lost") return null;
    if (n.site) return html`<p class="dim">${say.atSite(html`<a href=${siteHref(n, d)}>${n.site}</a>`)}</p>`;
    const wait = (d.state === "busy" || d.state === "held") && !isMine(d);
    if (!wait && d.booking) return null;
    return html`<p>
        ${wait && html`<button type="button" class="main" onClick=${() => tellWhenFree(n, d)}>${say.tellMe}</button>${" "}`}
        ${!d.booking && html`<button type="button" class=${d.state === "free" ? "main" : ""} onClick=${() => book({ devices: [d.uuid] })}>${say.book}</button>`}
    </p>`;
}
