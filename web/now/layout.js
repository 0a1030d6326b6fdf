/* layout.js: nodes as lines of a list: a row each, cards beside each other, or tiles of marks; the table is table.js. Heights and widths are those
 * of style.css; they matter only where the list is too long to be there whole (kit/lines.js). */
import { html } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { devicesOf, modelOf, nodeName, tally } from "../kit/model.js";
import { hostShares } from "./host.js";
import { NodeBox, NodeTile } from "./node.js";
import { nodeTrouble } from "./sentences.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("./order.js").Group} Group */
/** @typedef {import("../kit/lines.js").Line} Line */

/** @type {[string, string][]} */
export const LAYOUTS = [["rows", say.rows], ["cards", say.cards], ["tiles", say.tiles], ["grid", say.grid], ["table", say.table]];

export const NARROW = 640;
const GAP = 8;
const HEAD = { least: 176, most: 480, age: 72, letter: 10, small: 7 }; /* as .row; letters rather too wide than too narrow */
const CELL = { height: 36, gap: 4, least: 112, most: 8 }; /* as .cells */
const CARD = { least: 320, least_cell: 72 };
const TILE = { least: 84, height: 36 };

/** As grid-template-columns: repeat(auto-fill, minmax(least, 1fr)). @param {number} width @param {number} least */
const columns = (width, least) => Math.max(1, Math.floor((width + GAP) / (least + GAP)));

/** @param {Node} n @param {number} across cells per line */
const bodyHeight = (n, across) => {
    const lines = Math.ceil(devicesOf(n).length / across);
    return lines * CELL.height + Math.max(0, lines - 1) * CELL.gap + (nodeTrouble(n) ? 20 : 0);
};

/** How wide the column of names is: as the longest asks for, as far as the cells leave room. @param {Node[]} nodes @param {number} width */
export function headWidth(nodes, width) {
    let [asked, cells] = [0, 1];
    for (const n of nodes) {
        const count = devicesOf(n).length;
        const shares = hostShares(n).reduce((w, s) => w + sharePixels(s), 0);
        asked = Math.max(asked, nodeName(n).length * HEAD.letter + (modelOf(n).length + (n.of ? 8 : 5)) * HEAD.small, shares);
        cells = Math.max(cells, Math.min(CELL.most, count));
    }
    const room = width - HEAD.age - GAP - cells * (CELL.least + GAP);
    return Math.max(HEAD.least, Math.min(asked, room, HEAD.most));
}

/** With "~100 %": what is live must not move the column. @param {{ name: string }} s */
const sharePixels = (s) => (s.name.length + 7) * HEAD.small + GAP;

/** What the shares of a host take under its name: they are never cut. @param {Node} n @param {number} room */
function sharesHeight(n, room) {
    let [lines, left] = [0, 0];
    for (const s of hostShares(n)) {
        const asked = sharePixels(s);
        if (asked > left) [lines, left] = [lines + Math.ceil(asked / room), room];
        left -= asked;
    }
    return lines * 16;
}

/** @param {Node} n @param {number} width @param {number} head */
function rowHeight(n, width, head) {
    const narrow = width < NARROW;
    const body = bodyHeight(n, Math.min(CELL.most, columns(narrow ? width : width - head - HEAD.age - 2 * GAP, CELL.least)));
    return narrow ? 28 + sharesHeight(n, width - HEAD.age - GAP) + body + 16 : Math.max(36, 20 + sharesHeight(n, head), body) + 17;
}

/** @param {Node[]} nodes @param {number} size @returns {Node[][]} */
function chunks(nodes, size) {
    const all = [];
    for (let i = 0; i < nodes.length; i += size) all.push(nodes.slice(i, i + size));
    return all;
}

/** @param {Node[]} nodes @param {string} layout @param {number} width @param {number} head @returns {Line[]} */
function linesOf(nodes, layout, width, head) {
    if (layout === "rows") {
        return nodes.map((n) => ({ key: n.id, height: rowHeight(n, width, head), of: n, what: () => html`<${NodeBox} key=${n.id} n=${n} />` }));
    }
    const card = layout === "cards";
    const across = columns(width, card ? CARD.least : TILE.least);
    const inside = (width - (across - 1) * GAP) / across - 26;
    return chunks(nodes, across).map((some) => {
        const height = card ? Math.max(...some.map((n) => 28 + sharesHeight(n, inside - HEAD.age) + bodyHeight(n, columns(inside, CARD.least_cell)))) + 26 + GAP : TILE.height;
        return {
            key: some[0].id,
            height,
            what: () => html`<div class="across" key=${some[0].id} style=${{ gridTemplateColumns: `repeat(${across}, minmax(0, 1fr))` }}>
                ${some.map((n) => (card ? html`<${NodeBox} key=${n.id} n=${n} card />` : html`<${NodeTile} key=${n.id} n=${n} />`))}
            </div>`,
        };
    });
}

/** @param {Group} g @param {Node[]} nodes */
export function heading(g, nodes) {
    const { devices, by } = tally(nodes, hubNow());
    return html`<h2 class="group" key=${`group ${g.title}`}>${g.title} <span class="dim">${say.freeOn(by.free ?? 0, devices, nodes.length)}</span></h2>`;
}

/** @param {Group[]} groups @param {Map<string, Node>} now the newest of each node @param {string} layout @param {number} width @param {number} head @returns {Line[]} */
export function layOut(groups, now, layout, width, head) {
    if (!width) return [];
    let item = 0;
    return groups.flatMap((g) => {
        const nodes = g.ids.flatMap((id) => now.get(id) ?? []);
        const lines = linesOf(nodes, layout, width, head);
        if (layout === "rows") for (const l of lines) l.item = ++item;
        if (!g.title || !nodes.length) return lines;
        return [{ key: `group ${g.title}`, height: 36, what: () => heading(g, nodes) }, ...lines];
    });
}
