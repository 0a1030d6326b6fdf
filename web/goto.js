/* goto.js: what Ctrl-K opens: type a part of a name and go there: a view, a node, a GPU, a person, a saved filter. It is loaded when it is first asked for. */
import { render } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask } from "./kit/api.js";
import { stateName, stateOf } from "./kit/facts.js";
import { saved } from "./kit/filters.js";
import { html } from "./kit/html.js";
import { live } from "./kit/live.js";
import { devicesOf, holderOf, modelOf, nodeName, placeOf, usersOf } from "./kit/model.js";
import { go, href } from "./kit/router.js";
import { sheet } from "./kit/sheet.js";
import { viewFor, views } from "./views.js";
import { say } from "./words.en.js";

/** @typedef {import("./kit/types").Node} Node */
/** What one can go to: its name, what it is, its mark. @typedef {{ name: string, what: string, to: string, state?: string }} Goal */

await sheet("later.css");

const SHOWN = 10;

/** @param {string} person */
const personTo = (person) => (viewFor("/person/x") ? `/person/${encodeURIComponent(person)}` : href("/", { filter: `user:${person}` }));

/** @param {Node[]} nodes @returns {Goal[]} */
function goalsOf(nodes) {
    /** @type {Map<string, number>} */
    const people = new Map();
    for (const n of nodes) for (const d of devicesOf(n)) for (const u of usersOf(d)) if (!u.nobody) people.set(u.user, (people.get(u.user) ?? 0) + 1);
    return [
        ...views.flatMap((v) => (v.path.endsWith("/") && v.path !== "/" ? [] : [{ name: v.title, what: say.view, to: v.path }])),
        ...saved().map((f) => ({ name: f, what: say.savedFilter, to: href("/", { filter: f }) })),
        ...nodes.map((n) => ({ name: nodeName(n), what: say.nodeOf(modelOf(n)), to: `/node/${encodeURIComponent(n.name)}` })),
        ...[...people].map(([person, n]) => ({ name: person, what: say.personOn(n), to: personTo(person) })),
        ...nodes.flatMap((n) => devicesOf(n).map((d) => ({ name: placeOf(n, d), what: ["GPU", stateName(d.state), holderOf(d)].filter(Boolean).join(", "), to: `/gpu/${encodeURIComponent(d.uuid)}`, state: d.state }))),
    ];
}

/** How well it fits, 0 best; -1: not at all. Every word must be in its name or what it is. @param {Goal} g @param {string} text */
function rank(g, text) {
    const name = g.name.toLowerCase();
    const all = `${name} ${g.what.toLowerCase()}`;
    if (!text.split(/\s+/).every((w) => all.includes(w))) return -1;
    return name === text ? 0 : name.startsWith(text) ? 1 : name.includes(text) ? 2 : 3;
}

/** The best ones; of equal ones the earlier. @param {Goal[]} goals @param {string} typed */
export function best(goals, typed) {
    const text = typed.trim().toLowerCase();
    /** @type {Goal[][]} */
    const by = [[], [], [], []];
    for (const g of goals) {
        const r = rank(g, text);
        if (r >= 0 && by[r].length < SHOWN) by[r].push(g);
    }
    return by.flat().slice(0, SHOWN);
}

/** @param {{ nodes: Node[], close: () => void }} props */
function Goto({ nodes, close }) {
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    const [text, setText] = useState("");
    const [at, setAt] = useState(0);
    useLayoutEffect(() => box.current?.showModal(), []);
    const goals = useMemo(() => goalsOf(nodes), [nodes]);
    const shown = best(goals, text);
    /** @param {Goal} g */
    const follow = (g) => {
        close();
        go(g.to);
    };
    /** @param {KeyboardEvent} e */
    function onKey(e) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
        if (step) setAt((at + step + shown.length) % Math.max(1, shown.length));
        else if (e.key === "Enter" && shown[at]) follow(shown[at]);
        else return;
        e.preventDefault();
    }
    return html`<dialog class="goto" ref=${box} onClose=${close} aria-label=${say.goTo} onClick=${(/** @type {Event} */ e) => e.target === box.current && close()}>
        <input type="text" role="combobox" aria-label=${say.goToWhat} aria-expanded="true" aria-controls="goals" aria-activedescendant=${shown[at] ? `goal-${at}` : null} placeholder=${say.goalsHint}
            autocomplete="off" autocapitalize="off" spellcheck=${false} value=${text} onKeyDown=${onKey} onInput=${(/** @type {any} */ e) => {
                setText(e.currentTarget.value);
                setAt(0);
            }} />
        <ul id="goals" role="listbox" aria-label=${say.whereTo}>
            ${shown.map((g, i) => html`<li role="option" id=${`goal-${i}`} key=${g.to} class=${g.state ?? ""} aria-selected=${i === at} onClick=${() => follow(g)} onPointerMove=${() => i !== at && setAt(i)}>
                <span class="mark">${stateOf.get(/** @type {any} */ (g.state))?.mark ?? ""}</span> <span class="goal">${g.name}</span> <span class="dim">${g.what}</span>
            </li>`)}
        </ul>
        ${!shown.length && html`<p class="dim" role="status">${say.noMatch}</p>`}
    </dialog>`;
}

/** @type {HTMLElement | null} */
let holder = null;

/** Of a filtered view only some nodes are known: all are asked for. */
async function allNodes() {
    if (!live.filter) return live.nodes;
    return /** @type {Promise<Node[]>} */ (ask("/api/v1/state").then((s) => s.nodes, () => live.nodes));
}

export async function openGoto() {
    const back = /** @type {HTMLElement | null} */ (document.activeElement);
    const root = (holder ??= document.body.appendChild(document.createElement("div")));
    if (root.firstChild) return;
    const close = () => {
        render(null, root);
        back?.focus?.();
    };
    const show = (/** @type {Node[]} */ nodes) => render(html`<${Goto} nodes=${nodes} close=${close} />`, root);
    show(live.nodes);
    const all = await allNodes();
    if (all !== live.nodes && root.firstChild) show(all);
}
