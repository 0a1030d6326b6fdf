/* keep.js: what an admin may do to a node in its view: delete one that never sent a sample, join one with the silent node whose GPUs it has. */
import { useState } from "preact/hooks";
import { useSession } from "../access/session.js";
import { send } from "../kit/api.js";
import { html } from "../kit/html.js";
import { go } from "../kit/router.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Problem} Problem */
/** @typedef {import("../kit/types").Node} Node */

/** A button that asks once more before it does it. @param {{ label: string, sure: string, act: () => Promise<void> }} props */
function Twice({ label, sure, act }) {
    const [asked, setAsked] = useState(false);
    const [wrong, setWrong] = useState("");

    async function onClick() {
        if (!asked) return setAsked(true);
        try {
            await act();
        } catch (problem) {
            setWrong(/** @type {Problem} */ (problem).detail);
            setAsked(false);
        }
    }

    return html`<button type="button" onClick=${onClick}>${asked ? sure : label}</button>
        ${asked && html` <button type="button" onClick=${() => setAsked(false)}>${say.no}</button>`}
        ${wrong && html`<p class="error" role="alert">${wrong}</p>`}`;
}

/** @param {{ n: Node }} props */
export function Keep({ n }) {
    const { role } = useSession();
    if (role !== "admin" || !(n.never_sampled || n.belonged_to)) return null;
    const path = `/api/v1/nodes/${encodeURIComponent(n.id)}`;
    return html`<section class="keep" aria-label=${say.forAdmins}>
        ${n.belonged_to && html`<p>${say.belonged(n.belonged_to)} <${Twice} label=${say.join} sure=${say.joinSure(n.belonged_to)} act=${async () => {
            await send(path + "/join", { old: n.belonged_to_id });
            go(`/node/${encodeURIComponent(n.id)}`);
        }} /></p>`}
        ${n.never_sampled && html`<p>${say.neverSent} <${Twice} label=${say.deleteNode} sure=${say.deleteSure} act=${async () => {
            await send(path, {}, "DELETE");
            go("/");
        }} /></p>`}
    </section>`;
}
