/* wait.js: the form "tell me when it is free": gets in line for a GPU, as `muster wait --tell` does. */
import { useEffect, useRef, useState } from "preact/hooks";
import { count } from "../kit/format.js";
import { html } from "../kit/html.js";
import { indexOf, nodeName } from "../kit/model.js";
import { setPref } from "../kit/prefs.js";
import { canNotify, getInLine } from "./line.js";
import { openOver } from "./over.js";
import { isLocked, Who, whoUsually } from "./who.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */
/** @typedef {import("../kit/types").Bookings} Bookings */
/** @typedef {import("../kit/types").Problem} Problem */

const HOLD = "30m";

/** @param {{ n: Node, d: Device, known: Bookings, close: (said?: string) => void }} props */
function Form({ n, d, known, close }) {
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    const [person, setPerson] = useState(whoUsually(known));
    const [here, setHere] = useState(canNotify() && Notification.permission === "granted");
    const [wrong, setWrong] = useState("");
    const [busy, setBusy] = useState(false);
    useEffect(() => {
        box.current?.showModal();
        /** @type {HTMLElement | null | undefined} */
        const first = box.current?.querySelector(person ? "button.main" : "input[name=person], button.main");
        first?.focus();
    }, []);
    const name = `${nodeName(n)}:${indexOf(d)}`;

    /** @param {Event} e */
    async function onSubmit(e) {
        e.preventDefault();
        setBusy(true);
        try {
            if (here) await Notification.requestPermission();
            const { w, here: only } = await getInLine({ node: `${n.name}:${indexOf(d)}`, hold: HOLD, ...(person && { person: person.trim() }) });
            if (known.auth === "open") setPref("person", person.trim());
            const ahead = w.ahead ? `, with ${count(w.ahead, "other")} before you` : "";
            close(`in line for ${name}${ahead}${only ? ". The hub has no Slack or mail address for you: keep this page open, or your place is lost." : ": a message comes when it is free"}`);
        } catch (problem) {
            setWrong(/** @type {Problem} */ (problem).detail);
            setBusy(false);
        }
    }

    return html`<dialog class="form book" ref=${box} onClose=${() => close()} aria-labelledby="wait-title">
        <form onSubmit=${onSubmit}>
            <h2 id="wait-title">Tell me when ${name} is free</h2>
            <p>You get in line for it. When nobody is on it and it is your turn, it is booked for you for 30 minutes, and you are told: by Slack or mail where the hub has a channel that leads to you, else on this page.</p>
            <${Who} known=${known} person=${person} set=${setPerson} />
            ${canNotify() && html`<p class="gpus"><label><input type="checkbox" name="here" checked=${here} onChange=${(/** @type {any} */ e) => setHere(e.currentTarget.checked)} /> with a notification of this browser as well, while this page is open</label></p>`}
            ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
            <p class="acts"><button class="main" disabled=${busy || isLocked(known)}>Tell me</button> <button type="button" onClick=${() => close()}>Back</button></p>
        </form>
    </dialog>`;
}

/** @param {Node} n @param {Device} d */
export const openWait = (n, d) => openOver((known, close) => html`<${Form} key=${`wait ${d.uuid}`} n=${n} d=${d} known=${known} close=${close} />`);
