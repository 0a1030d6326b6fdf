/* grid_fit.js: where each GPU of a heat grid lies: the largest cells with which all of them fit into the room there is. A node's GPUs stand side by
 * side, nodes flow like words, a group begins a line of its own and has its name beside it. */
import { devicesOf } from "../kit/model.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("./order.js").Group} Group */
/** A GPU's place; who it is, and where it was found among its node's. @typedef {{ id: string, uuid: string, k: number, x: number, y: number }} Spot */
/** first, count: which spots are under a heading. @typedef {{ title: string, y: number, height: number, first: number, count: number }} Head */
/** @typedef {{ size: number, names: number, height: number, spots: Spot[], heads: Head[], labels: { text: string, x: number, y: number }[] }} Fit */

const LARGEST = 26; /* px, with the line between two cells */
const SMALLEST = 4;
const NAMED = 14; /* from this size on a node's name stands before its cells */
const LINE = 16; /* a group is at least as high as its name */
const ACROSS = 16; /* cells of a node on a line */

/** What of a group is shown: each node with those of its GPUs that belong there. @param {Group} g @param {Map<string, Node>} now */
const blocksOf = (g, now) =>
    g.ids.flatMap((id) => {
        const n = now.get(id);
        const devices = n ? devicesOf(n).flatMap(({ uuid }, k) => (!g.pick || g.pick.has(uuid) ? [{ uuid, k }] : [])) : [];
        return n && devices.length ? [{ n, devices }] : [];
    });

/** @param {{ title: string, blocks: { n: Node, devices: { uuid: string, k: number }[] }[] }[]} groups @param {number} width @param {number} head @param {number} size @param {number} letter @returns {Fit} */
function layCells(groups, width, head, size, letter) {
    const gap = size >= 8 ? 4 : 2;
    const longest = Math.max(0, ...groups.flatMap((g) => g.blocks.map((b) => (b.n.display ?? b.n.name).length)));
    const names = size >= NAMED ? Math.min(120, longest * letter + 8) : 0;
    /** @type {Fit} */
    const fit = { size, names, height: 0, spots: [], heads: [], labels: [] };
    let y = 0;
    for (const g of groups) {
        const [top, first] = [y, fit.spots.length];
        let [x, high] = [head, 0];
        for (const { n, devices } of g.blocks) {
            const across = Math.min(devices.length, ACROSS);
            const lines = Math.ceil(devices.length / across);
            if (x > head && x + names + across * size > width) {
                y += high;
                [x, high] = [head, 0];
            }
            if (names) fit.labels.push({ text: n.display ?? n.name, x, y });
            devices.forEach((d, i) => fit.spots.push({ id: n.id, ...d, x: x + names + (i % across) * size, y: y + Math.floor(i / across) * size }));
            high = Math.max(high, lines * size + gap - 1);
            x += names + across * size + gap;
        }
        y = Math.max(y + high, g.title ? top + LINE : 0);
        if (g.title) {
            fit.heads.push({ title: g.title, y: top, height: y - top, first, count: fit.spots.length - first });
            y += 4;
        }
    }
    fit.height = y;
    return fit;
}

/** @param {Group[]} groups @param {Map<string, Node>} now @param {number} width @param {number} height @param {number} head how wide the column of groups' names is @param {number} [letter] px @returns {Fit} */
export function fitGrid(groups, now, width, height, head, letter = 7) {
    const parts = groups.map((g) => ({ title: g.title, blocks: blocksOf(g, now) })).filter((g) => g.blocks.length);
    for (let size = LARGEST; size > SMALLEST; size--) {
        const fit = layCells(parts, width, head, size, letter);
        if (fit.height <= height) return fit;
    }
    return layCells(parts, width, head, SMALLEST, letter);
}
