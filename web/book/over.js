/* over.js: what lies over a view, whichever asked for it: a form, and for a while what came of it. */
import { render } from "preact";
import { html } from "../kit/html.js";
import { onMove } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { askAhead } from "./bookings.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Bookings} Bookings */
/** @typedef {import("../kit/types").Problem} Problem */

await sheet("later.css");

const SAID_MS = 8000;

/** A place of its own at the end of the page. @param {string} name */
const holder = (name) => Object.assign(document.body.appendChild(document.createElement("div")), { className: name });
const forms = holder("");
const words = holder("sayings");

/** @type {{ what: any, stays: boolean }[]} */
let said = [];
let timer = 0;

/** In the form or dialog that is open, if one is: what is outside of it lies behind it and cannot be reached. */
function takeSeat() {
    const seat = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
    if (words.parentElement !== seat) seat.append(words);
}
const opened = new MutationObserver(takeSeat);

/** @param {typeof said} now */
function show(now) {
    said = now;
    opened.disconnect();
    if (said.length) opened.observe(document.body, { subtree: true, childList: true, attributeFilter: ["open"] });
    takeSeat();
    render(said.map((s) => html`<p class="said" key=${s} role=${s.stays ? "alert" : "status"}>${s.what}${s.stays && html` <button type="button" onClick=${() => show(said.filter((one) => one !== s))}>${say.close}</button>`}</p>`), words);
}

/** What was done, for a while or until the next is; what nobody may miss stays until it is closed. @param {any} what @param {boolean} [stays] */
export function tell(what, stays = false) {
    if (stays) return show([...said, { what, stays }]);
    const lasting = () => said.filter((s) => s.stays);
    clearTimeout(timer);
    show(what ? [...lasting(), { what, stays }] : lasting());
    timer = window.setTimeout(() => show(lasting()), SAID_MS);
}

let stopLast = () => {};

/** A form that knows what is booked from now on, and as whom one books; it takes the place of another. @param {(known: Bookings, close: (said?: string) => void) => any} make */
export async function openOver(make) {
    const back = /** @type {HTMLElement | null} */ (document.activeElement);
    try {
        const known = await askAhead();
        const close = (done = "") => {
            stop();
            if (stopLast === stop) render(null, forms);
            tell(done);
            back?.focus?.();
        };
        const stop = onMove(() => close()); /* it belongs to the view it was opened from */
        stopLast();
        stopLast = stop;
        render(make(known, close), forms);
    } catch (problem) {
        tell(/** @type {Problem} */ (problem).detail);
    }
}
