/* view_add.js: the view /add: one line to paste on a machine, which then appears here as soon as it reports. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useSession } from "../access/session.js";
import { send } from "../kit/api.js";
import { Empty, Unreachable, useInstall } from "../kit/empty.js";
import { html } from "../kit/html.js";
import { watch } from "../kit/live.js";
import { modelOf, nodeName } from "../kit/model.js";
import { useLive } from "../kit/use.js";
import { Copy } from "./copy.js";
import { say } from "./words.en.js";

/* A command that was pasted and forgotten must not add nodes for ever. */
const LASTS = "1d";

/** @typedef {import("../kit/types").Problem} Problem */

/** Nodes that were not there when the command was made. @param {{ before: Set<string> }} props */
function Arrivals({ before }) {
    const fresh = useLive().nodes.filter((n) => !n.site && !before.has(n.id));
    if (!fresh.length) return html`<p class="waiting" role="status">${say.waiting}</p>`;
    return html`<ul class="arrivals" role="status">
        ${fresh.map((n) => html`<li><a href="/node/${encodeURIComponent(n.name)}">${nodeName(n)}</a> ${say.isHere(n.devices.length, modelOf(n))}</li>`)}
    </ul>`;
}

export default function Add() {
    const { role, known } = useSession();
    const { nodes } = useLive();
    const install = useInstall();
    const [note, setNote] = useState("");
    const [command, setCommand] = useState("");
    const [wrong, setWrong] = useState("");
    const before = useRef(/** @type {Set<string>} */ (new Set()));
    useEffect(() => watch({}), []);

    if (!known) return null;
    if (role !== "admin") {
        return html`<${Empty} title=${say.addIsForAdmins}>
            <p>${say.logInToAdd(html`<a href="/login?to=/add">${say.logIn}</a>`)} <code>muster token new --role enroll</code></p>
        <//>`;
    }

    if (install?.why) return html`<${Empty} title=${say.addNode}><${Unreachable} why=${install.why} /><//>`;

    /** @param {Event} e */
    async function onSubmit(e) {
        e.preventDefault();
        before.current = new Set(nodes.map((n) => n.id));
        try {
            const made = await send("/api/v1/tokens", { role: "enroll", expires: LASTS, ...(note.trim() && { note: note.trim() }) });
            setCommand(made.command);
            setWrong("");
        } catch (problem) {
            setWrong(/** @type {Problem} */ (problem).detail);
        }
    }

    return html`<form class="form" onSubmit=${onSubmit}>
        <h1>${say.addNode}</h1>
        <p>${say.oneCommand}</p>
        ${!command && html`<label>${say.note} <span class="dim">${say.optional}</span>
            <input name="note" maxlength="100" value=${note} placeholder=${say.noteHint} onInput=${(/** @type {any} */ e) => setNote(e.currentTarget.value)} />
        </label>`}
        ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
        ${command
            ? html`<${Copy} text=${command} label=${say.theCommand} />
                <p class="dim">${say.commandHolds(html`<code>curl … | sh</code>`, html`<code>muster token revoke</code>`)}</p>
                <${Arrivals} before=${before.current} />`
            : html`<p><button>${say.makeCommand}</button></p>`}
    </form>`;
}
