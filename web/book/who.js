/* who.js: in a form: for whom it is. */
import { session } from "../access/session.js";
import { html } from "../kit/html.js";
import { pref } from "../kit/prefs.js";
import { href, place } from "../kit/router.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Bookings} Bookings */

/** @param {Bookings} known */
export const whoUsually = (known) => (known.auth === "open" ? pref("person", "") : known.me ?? "");

/** They may not, whoever they are. @param {Bookings} known */
export const isLocked = (known) => session.role === "reader" || (known.auth !== "open" && !known.me && session.role !== "admin");

/** Who books. Open: a name is typed, as on a trusted lab's page. @param {{ known: Bookings, person: string, set: (person: string) => void }} props */
export function Who({ known, person, set }) {
    if (known.auth === "open" || session.role === "admin") {
        return html`<label>${say.who}
            <input name="person" required maxlength="63" autocomplete="username" spellcheck=${false} value=${person} onInput=${(/** @type {any} */ e) => set(e.currentTarget.value)} /></label>`;
    }
    if (known.me) return html`<p>${say.forWhom(person)}</p>`;
    return known.auth === "token"
        ? html`<p>${say.takesToken(html`<a href=${href("/login", { to: place.path + location.search })}>${say.logIn}</a>`)}</p>`
        : html`<p>${say.proxySilent}</p>`;
}
