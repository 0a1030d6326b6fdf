/* help.js: the help that "?" opens: the keys, and what the marks of the states mean. */
import { useEffect, useRef } from "preact/hooks";
import { facts, states } from "./kit/facts.js";
import { html } from "./kit/html.js";
import { navigation } from "./views.js";

const KEYS = [
    ["Ctrl K", "go to a node, a GPU, a person, a view"],
    ["/", "filter"],
    ["arrows", "from GPU to GPU"],
    ["Enter", "open the GPU"],
    ["Esc", "close, or empty the filter"],
    ["?", "this"],
];

/** @param {{ close: () => void }} props */
export function Help({ close }) {
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    useEffect(() => box.current?.showModal(), []);
    return html`<dialog class="help" ref=${box} onClose=${close} aria-labelledby="help-title">
        <h2 id="help-title">Keys and marks</h2>
        <dl class="keys">
            ${navigation.filter((v) => v.key).map((v) => html`<div><dt><kbd>g</kbd> <kbd>${v.key}</kbd></dt><dd>${v.nav}</dd></div>`)}
            ${KEYS.map(([key, words]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${words}</dd></div>`)}
        </dl>
        <dl class="keys">
            ${states.map((s) => html`<div><dt class=${s.word}><span class="mark">${s.mark}</span> ${s.word}</dt><dd>${s.meaning}</dd></div>`)}
            <div><dt><span class="mark">⚑</span> booked</dt><dd>in use and booked; by whom, where that is somebody else</dd></div>
        </dl>
        <p class="dim">muster ${facts.muster} · <a data-load href="/api/v1/state">JSON</a> · <a data-load href="/metrics">Prometheus</a> · <a data-load href="/?term=true&detail=true">text</a></p>
        <form method="dialog"><button>close</button></form>
    </dialog>`;
}
