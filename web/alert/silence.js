/* silence.js: the form that silences alerts. What the hub refuses stays in the form, beside the hub's sentence. */
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../kit/html.js";
import { silence } from "./alerts.js";

/** @typedef {import("../kit/types").Problem} Problem */

/** @type {[string, string][]} */
const SPANS = [["1h", "1 h"], ["4h", "4 h"], ["1d", "1 d"], ["1w", "1 w"]];

/** @param {{ rule: string, node: string, close: (done?: boolean) => void }} props rule, node: what it begins with */
export function SilenceForm({ rule, node, close }) {
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    const [draft, setDraft] = useState({ rule, node, for: "4h", reason: "" });
    const [wrong, setWrong] = useState("");
    const [busy, setBusy] = useState(false);
    useEffect(() => {
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
            <h2 id="silence-title">Silence ${rule || "alerts"}${node && ` of ${node}`}</h2>
            <p class="dim">What fits is still listed here and tells nobody. A star fits anything; a node's name means its GPUs, too.</p>
            <div class="times">
                <label>rule <input ...${field("rule")} maxlength="200" spellcheck=${false} autocomplete="off" /></label>
                <label>node or GPU <input ...${field("node")} maxlength="200" spellcheck=${false} autocomplete="off" /></label>
            </div>
            <label>for how long <input ...${field("for")} required maxlength="100" autocomplete="off" /></label>
            <div class="range" role="group" aria-label="for how long">
                ${SPANS.map(([value, words]) => html`<button type="button" aria-pressed=${draft.for === value} onClick=${() => setDraft({ ...draft, for: value })}>${words}</button>`)}
            </div>
            <label>why <input ...${field("reason")} required maxlength="200" autocomplete="off" /></label>
            ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
            <p class="acts">
                <button class="main" disabled=${busy}>Silence</button>
                <button type="button" onClick=${() => close()}>Back</button>
            </p>
        </form>
    </dialog>`;
}
