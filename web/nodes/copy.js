/* copy.js: a line to paste elsewhere, with a button that copies it. Where the browser does not allow that, the line can be selected. */
import { useState } from "preact/hooks";
import { html } from "../kit/html.js";
import { say } from "./words.en.js";

/** @param {{ text: string, label: string }} props */
export function Copy({ text, label }) {
    const [done, setDone] = useState("");
    const copy = () => (navigator.clipboard?.writeText(text) ?? Promise.reject()).then(() => setDone(say.copied), () => setDone(say.byHand));
    return html`<div class="copy" aria-label=${label} role="group">
        <code tabindex="0">${text}</code>
        <button type="button" onClick=${copy}>${say.copy}</button>
        <span class="dim" role="status">${done}</span>
    </div>`;
}
