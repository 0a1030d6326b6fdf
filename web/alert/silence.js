/* silence.js: the form that silences alerts. What the hub refuses stays in the form, beside the hub's sentence. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { inUnit } from "../kit/format.js";
import { html } from "../kit/html.js";
import { silence } from "./alerts.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Problem} Problem */

/** @type {[string, string][]} */
const SPANS = [["1h", inUnit(1, 1)], ["4h", inUnit(4, 1)], ["1d", inUnit(1, 0)], ["1w", say.week]];

/** @param {{ rule: string, node: string, close: (done?: boolean) => void }} props rule, node: what it begins with */
export function SilenceForm({ rule, node, close }) {
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    const [draft, setDraft] = useState({ rule, node, for: "4h", reason: "" });
    const [wrong, setWrong] = useState("");
    const [busy, setBusy] = useState(false);
    useLayoutEffect(() => {
        const back = /** @type {HTMLElement | null} */ (document.activeElement);
        box.current?.showModal();
        /** @type {HTMLElement | null | undefined} */
        const first = box.current?.querySelector(rule || node ? "[name=reason]" : "[name=rule]");
        first?.focus();
        return () => back?.focus?.();
    }, []);

    /** @param {"rule" | "node" | "for" | "reason"} name */
    const field = (name) => ({ name, value: draft[name], onInput: (/** @type {any} */ e) => setDraft({ ...draft, [name]: e.currentTarget.value }) });

    /** @param {Event} e */
    async function onSubmit(e) {
        e.preventDefault();
        setBusy(true);
        try {
            await silence({ rule: draft.rule.trim(), node: draft.node.trim(), for: draft.for.trim(), reason: draft.reason.trim() });
            close(true);
        } catch (problem) {
            setWrong(/** @type {Problem} */ (problem).detail);
            setBusy(false);
        }
    }

    return html`<dialog class="form book" ref=${box} onClose=${() => close()} aria-labelledby="silence-title">
        <form onSubmit=${onSubmit}>
            <h2 id="silence-title">${say.silenceWhat(rule, node)}</h2>
            <p class="dim">${say.silenceMeans}</p>
            <div class="times">
                <label>${say.rule} <input ...${field("rule")} maxlength="200" spellcheck=${false} autocomplete="off" /></label>
                <label>${say.nodeOrGpu} <input ...${field("node")} maxlength="200" spellcheck=${false} autocomplete="off" /></label>
            </div>
            <label>${say.howLong} <input ...${field("for")} required maxlength="100" autocomplete="off" /></label>
            <div class="range" role="group" aria-label=${say.howLong}>
                ${SPANS.map(([value, words]) => html`<button type="button" aria-pressed=${draft.for === value} onClick=${() => setDraft({ ...draft, for: value })}>${words}</button>`)}
            </div>
            <label>${say.why} <input ...${field("reason")} required maxlength="200" autocomplete="off" /></label>
            ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
            <p class="acts">
                <button class="main" disabled=${busy}>${say.silence}</button>
                <button type="button" onClick=${() => close()}>${say.back}</button>
            </p>
        </form>
    </dialog>`;
}
