/* help.js: the help that "?" opens: the keys, and what the marks of the states mean. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ask } from "./kit/api.js";
import { facts, stateName, states } from "./kit/facts.js";
import { COMMA } from "./kit/format.js";
import { html } from "./kit/html.js";
import { choose, language, LANGUAGES } from "./kit/language.js";
import { navigation } from "./views.js";
import { say } from "./words.en.js";

const KEYS = [
    ["Ctrl K", say.keyGo],
    ["/", say.keyFilter],
    [say.arrows, say.keyArrows],
    ["Enter", say.keyOpen],
    ["Esc", say.keyClose],
    ["?", say.keyHelp],
];

/** @param {{ version?: string, commit?: string, format?: number }} b */
const build = (b) => [b.version, b.commit && `+${b.commit}`, b.format && ` (${say.format(b.format)})`].filter(Boolean).join("");

/** The hubs on this store, where there are several. */
function Hubs() {
    const [hubs, setHubs] = useState(/** @type {{ id: number, name: string, url?: string, version?: string, commit?: string, format?: number, leads: boolean, own: boolean }[]} */ ([]));
    useEffect(() => void ask("/api/v1/hubs").then(setHubs, () => {}), []);
    if (hubs.length < 2) return null;
    return html`<ul class="dim" aria-label=${say.hubs}>
        ${hubs.map((h) => html`<li>${h.url ?? h.name}: ${[`muster ${build(h)}`, h.leads && say.leads, h.own && say.ownHub].filter(Boolean).join(COMMA)}</li>`)}
    </ul>`;
}

function Language() {
    return html`<span class="range" role="group" aria-label=${say.language}>
        ${LANGUAGES.map(([one, name]) => html`<button type="button" lang=${one} aria-pressed=${one === language} onClick=${() => choose(one)}>${name}</button>`)}
    </span>`;
}

/** @param {{ close: () => void }} props */
export function Help({ close }) {
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    useLayoutEffect(() => box.current?.showModal(), []);
    return html`<dialog class="help" ref=${box} onClose=${close} aria-labelledby="help-title">
        <h2 id="help-title">${say.help}</h2>
        <dl class="keys">
            ${navigation.filter((v) => v.key).map((v) => html`<div><dt><kbd>g</kbd> <kbd>${v.key}</kbd></dt><dd>${v.nav}</dd></div>`)}
            ${KEYS.map(([key, words]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${words}</dd></div>`)}
        </dl>
        <dl class="keys">
            ${states.map((s) => html`<div><dt class=${s.word}><span class="mark">${s.mark}</span> ${stateName(s.word)}</dt><dd>${s.meaning}</dd></div>`)}
            <div><dt><span class="mark">⚑</span> ${say.booked}</dt><dd>${say.bookedMeans}</dd></div>
            ${facts.terms.map(({ word, meaning }) => html`<div><dt>${say.terms[word]?.[0] ?? word}</dt><dd>${say.terms[word]?.[1] ?? meaning}</dd></div>`)}
        </dl>
        <${Hubs} />
        <p class="dim">muster ${build({ ...facts, version: facts.muster })} · <a data-load href="/api/v1/state">JSON</a> · <a data-load href="/metrics">Prometheus</a> · <a data-load href="/?term=true&detail=true">${say.text}</a></p>
        <form method="dialog"><${Language} /><button>${say.close}</button></form>
    </dialog>`;
}
