/* said.js: sentences of the hub's, in which the nodes, GPUs and people they name are links. */
import { html } from "./html.js";
import { live } from "./live.js";
import { indexOf, nodeName } from "./model.js";
import { Person } from "./person.js";
import { say } from "./words.en.js";

/** @typedef {import("./types").Node} Node */

const WORD = /[\p{L}\p{N}_@-](?:[\p{L}\p{N}_.@-]*[\p{L}\p{N}_@-])?(?::\d+(?:[.,]\d+)*)?/gu;

/** @type {{ of: Node[], byName: Map<string, Node> }} */
let known = { of: [], byName: new Map() };

/** @param {string} name */
function nodeCalled(name) {
    if (known.of !== live.nodes) known = { of: live.nodes, byName: new Map(live.nodes.flatMap((n) => [[nodeName(n), n], [n.name, n]])) };
    return known.byName.get(name);
}

/** Where "dgx2" or "dgx2:3" leads; "dgx2:0,1" to the node; "": it is neither. @param {string} word */
function pathOfPlace(word) {
    const [name, gpu] = word.split(":");
    const n = nodeCalled(name);
    const d = n?.devices.find((one) => indexOf(one) === gpu);
    return d ? `/gpu/${encodeURIComponent(d.uuid)}` : n ? `/node/${encodeURIComponent(n.name)}` : "";
}

/** people: those it may name; nodes and GPUs are known. here: which stands as a link beside it already. @param {{ text: string, people?: string[], here?: string }} props */
export function Said({ text, people = [], here }) {
    const parts = [];
    let from = 0;
    for (const { 0: word, index } of text.matchAll(WORD)) {
        const somebody = people.includes(word);
        const to = somebody || word === here ? "" : pathOfPlace(word);
        if (!to && !somebody) continue;
        parts.push(text.slice(from, index), to ? html`<a href=${to}>${word}</a>` : html`<${Person} name=${word} />`);
        from = index + word.length;
    }
    return html`${parts}${text.slice(from)}`;
}

/** Who holds something, as the hub joins their names: "kim, lee +2"; null: nobody known. @param {{ who: string | null }} props */
export function Holders({ who }) {
    const [, names, more] = /^(.*?)( \+\d+)?$/s.exec(who ?? "") ?? [];
    if (!names) return say.unknown;
    return html`${names.split(", ").map((name, i) => html`${i > 0 && ", "}${name === "unknown" ? say.unknown : html`<${Person} name=${name} />`}`)}${more}`;
}
