/* over.js: what lies over a view, whichever asked for it: a form, and for a while what came of it. */
import { render } from "preact";
import { html } from "../kit/html.js";
import { onMove } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { askAhead } from "./bookings.js";

/** @typedef {import("../kit/types").Bookings} Bookings */
/** @typedef {import("../kit/types").Problem} Problem */

await sheet("later.css");

const SAID_MS = 8000;

/** @type {HTMLElement | null} */
let holder = null;
let timer = 0;

/** @param {any} what */
function show(what) {
    holder ??= document.body.appendChild(document.createElement("div"));
    clearTimeout(timer);
    render(what, holder);
}

/** What was done, for a while; what nobody may miss stays until it is closed. @param {any} words @param {boolean} [stays] */
export function say(words, stays = false) {
    const close = html` <button type="button" onClick=${() => show(null)}>close</button>`;
    show(words ? html`<p class="said" role=${stays ? "alert" : "status"} key="said">${words}${stays && close}</p>` : null);
    if (words && !stays) timer = window.setTimeout(() => show(null), SAID_MS);
}

/** A form that knows what is booked from now on, and as whom one books. @param {(known: Bookings, close: (said?: string) => void) => any} make */
export async function openOver(make) {
    const back = /** @type {HTMLElement | null} */ (document.activeElement);
    try {
        const known = await askAhead();
        const close = (said = "") => {
            stop();
            say(said);
            back?.focus?.();
        };
        const stop = onMove(() => close()); /* it belongs to the view it was opened from */
        show(make(known, close));
    } catch (problem) {
        say(/** @type {Problem} */ (problem).detail);
    }
}
