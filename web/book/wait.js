/* wait.js: the form "tell me when it is free": gets in line for a GPU, as `muster wait --tell` does. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../kit/html.js";
import { indexOf, nodeName } from "../kit/model.js";
import { setPref } from "../kit/prefs.js";
import { canNotify, getInLine } from "./line.js";
import { openOver } from "./over.js";
import { isLocked, Who, whoUsually } from "./who.js";
import { say } from "./words.en.js";

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
    useLayoutEffect(() => {
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
            close(only ? say.inLineHere(name, w.ahead) : say.inLineTold(name, w.ahead));
        } catch (problem) {
            setWrong(/** @type {Problem} */ (problem).detail);
            setBusy(false);
        }
    }

    return html`<dialog class="form book" ref=${box} onClose=${() => close()} aria-labelledby="wait-title">
        <form onSubmit=${onSubmit}>
            <h2 id="wait-title">${say.tellMeWhen(name)}</h2>
            <p>${say.aboutWaiting}</p>
            <${Who} known=${known} person=${person} set=${setPerson} />
            ${canNotify() && html`<p class="gpus"><label><input type="checkbox" name="here" checked=${here} onChange=${(/** @type {any} */ e) => setHere(e.currentTarget.checked)} /> ${say.notify}</label></p>`}
            ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
            <p class="acts"><button class="main" disabled=${busy || isLocked(known)}>${say.tellMeButton}</button> <button type="button" onClick=${() => close()}>${say.back}</button></p>
        </form>
    </dialog>`;
}

/** @param {Node} n @param {Device} d */
export const openWait = (n, d) => openOver((known, close) => html`<${Form} key=${`wait ${d.uuid}`} n=${n} d=${d} known=${known} close=${close} />`);
