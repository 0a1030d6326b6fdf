/* view_add.js: the view /add: one line to paste on a machine, which then appears here as soon as it reports. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useSession } from "../access/session.js";
import { send } from "../kit/api.js";
import { Empty } from "../kit/empty.js";
import { count } from "../kit/format.js";
import { html } from "../kit/html.js";
import { watch } from "../kit/live.js";
import { modelOf, nodeName } from "../kit/model.js";
import { useLive } from "../kit/use.js";
import { Copy } from "./copy.js";

/* A command that was pasted and forgotten must not add nodes for ever. */
const LASTS = "1d";

/** @typedef {import("../kit/types").Problem} Problem */

/** Nodes that were not there when the command was made. @param {{ before: Set<string> }} props */
function Arrivals({ before }) {
    const fresh = useLive().nodes.filter((n) => !before.has(n.id));
    if (!fresh.length) return html`<p class="waiting" role="status">Waiting for the node to report …</p>`;
    return html`<ul class="arrivals" role="status">
        ${fresh.map((n) => html`<li><a href="/node/${encodeURIComponent(n.name)}">${nodeName(n)}</a> is here${n.devices.length ? `: ${count(n.devices.length, "GPU")}, ${modelOf(n)}` : ""}</li>`)}
    </ul>`;
}

export default function Add() {
    const { role, known } = useSession();
    const { nodes } = useLive();
    const [note, setNote] = useState("");
    const [command, setCommand] = useState("");
    const [wrong, setWrong] = useState("");
    const before = useRef(/** @type {Set<string>} */ (new Set()));
    useEffect(() => watch({}), []);

    if (!known) return null;
    if (role !== "admin") {
        return html`<${Empty} title="Adding nodes is for admins">
            <p><a href="/login?to=/add">Log in</a> with a token of role admin, or on the hub: <code>muster token new --role enroll</code></p>
        <//>`;
    }

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
        <h1>Add a node</h1>
        <p>One command, run on the machine to add. As root it installs a service; as any other user, a service of that user.</p>
        ${!command && html`<label>Note to know the token by <span class="dim">(optional)</span>
            <input name="note" maxlength="100" value=${note} placeholder="rack 4" onInput=${(/** @type {any} */ e) => setNote(e.currentTarget.value)} />
        </label>`}
        ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
        ${command
            ? html`<${Copy} text=${command} label="The command" />
                <p class="dim">It holds a token that adds nodes for a day, and is shown this once. Without the token at its end (<code>curl … | sh</code>) it asks for it, so that it shows in no list of processes. It works for as many machines as you like: a hundred at once, then ten
                    a second; ${" "}<code>muster token revoke</code> on the hub ends it before. Where hubs and nodes know each other by another address, change the address in it.</p>
                <${Arrivals} before=${before.current} />`
            : html`<p><button>Make the command</button></p>`}
    </form>`;
}
