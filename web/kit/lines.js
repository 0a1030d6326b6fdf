/* lines.js: a long list of which only what is near the window exists. Short lists are there whole, so that the browser
 * finds them; long ones have lines of known height, and are there whole when they are printed. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { html, keyed } from "./html.js";
import { useWindow } from "./use.js";
import { say } from "./words.en.js";

/**
 * height: in pixels, at least roughly. item: its number among those that are counted, from 1. of: what it shows; while that is the same thing the line need not
 * be drawn again.
 * @typedef {{ key: string, height: number, what: any, item?: number, of?: unknown }} Line
 */

const WHOLE = 120; /* lines */
const PAPER = 2000; /* lines */
const AHEAD = 400; /* pixels beyond the window's edges */
const OUTSIDE_MS = 100;
const TURN = 2; /* lines that are drawn again in one frame, so that there are as many frames as ever */

/** The first line whose end is below y. @param {number[]} ends @param {number} y */
function lineAt(ends, y) {
    let lo = 0;
    let hi = ends.length;
    while (lo < hi) {
        const mid = (lo + hi) >> 1;
        if (ends[mid] <= y) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/** turn: another one each time it is drawn. @typedef {{ of: unknown, at: string, turn: number }} Drawn */

let turns = 0;

/**
 * Chooses what is due: all that is in the window for the first time, then a few in each frame: what changed in the window, and what is about to come into it. Of
 * what changed outside of it one, the longest drawn, when nothing else is due. How long the rest waits, in ms: 0 is for the next frame, -1: nothing does.
 * @param {Map<string, Drawn>} drawn the longest drawn first @param {Line[]} shown @param {(i: number) => boolean} isSeen
 */
function chooseDue(drawn, shown, isSeen) {
    const keys = new Set(shown.map((l) => l.key));
    for (const key of drawn.keys()) if (!keys.has(key)) drawn.delete(key);
    /** @type {Line[][]} */
    const [first, changed, coming, outside] = [[], [], [], []];
    shown.forEach((l, i) => {
        const old = drawn.get(l.key);
        if (old && old.of === l.of && l.of !== undefined) return;
        (l.of === undefined || (!old && isSeen(i)) ? first : isSeen(i) ? changed : old ? outside : coming).push(l);
    });
    const next = [...changed, ...coming];
    const late = new Set(outside.map((l) => l.key));
    const oldest = next.length ? undefined : [...drawn.keys()].find((key) => late.has(key));
    for (const l of [...first, ...next.slice(0, TURN), ...outside.filter((one) => one.key === oldest)]) {
        drawn.delete(l.key);
        drawn.set(l.key, { of: l.of, at: "", turn: 0 });
    }
    return next.length > TURN ? 0 : outside.length > 1 || (outside.length && next.length) ? OUTSIDE_MS : -1;
}

/** A line at a place of its own: it is not laid out or painted again because others come and go. A vnode that is kept would keep the tree it was last part of. */
const Near = keyed(
    /** @param {{ l: Line, top: number, items: number, draw: (line: Line) => any, turn: number }} props */
    ({ l, top, items, draw }) => html`<div class="near" style=${{ top: `${top}px`, height: `${l.height}px` }} role=${l.item && "listitem"} aria-posinset=${l.item} aria-setsize=${l.item && items}>${draw(l)}</div>`,
    ({ turn }) => turn,
);

/** @param {Map<string, Drawn>} drawn @param {Line[]} shown @param {number} above pixels @param {number} items how many are counted @param {(line: Line) => any} draw */
function placeLines(drawn, shown, above, items, draw) {
    let y = above;
    return shown.map((l) => {
        const top = y;
        y += l.height;
        const d = drawn.get(l.key);
        if (!d) return null;
        const at = `${top} ${l.height} ${l.item} ${items}`;
        if (d.at !== at) Object.assign(d, { of: l.of, at, turn: ++turns });
        return html`<${Near} key=${l.key} l=${l} top=${top} items=${items} draw=${draw} turn=${d.turn} />`;
    });
}

/**
 * exact: heights are so to the pixel, as are those of the style sheet. items: how many of the lines are counted, for those who hear them.
 * @param {{ lines: Line[], draw: (line: Line) => any, exact?: boolean, items?: number }} props
 */
export function Lines({ lines, draw, exact, items = 0 }) {
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    const drawn = useRef(/** @type {Map<string, Drawn>} */ (new Map()));
    const [range, setRange] = useState({ from: 0, to: 40, top: 0, bottom: 40 }); /* what exists, and of that what is in the window */
    const [, again] = useState({});
    const [onPaper, setOnPaper] = useState(false);
    const long = lines.length > WHOLE && !onPaper;
    useWindow("beforeprint", () => setOnPaper(true));
    useWindow("afterprint", () => setOnPaper(false));
    /** @type {number[]} */
    const ends = [];
    let total = 0;
    if (long) for (const l of lines) ends.push((total += l.height));

    useLayoutEffect(() => {
        if (!long) return undefined;
        /* An event comes before the frame's changes: nothing is laid out for what is asked here. */
        const look = () => {
            if (!box.current) return;
            const y = -box.current.getBoundingClientRect().top;
            const end = (/** @type {number} */ below) => Math.min(lines.length, lineAt(ends, below) + 1);
            const r = { from: lineAt(ends, y - AHEAD), to: end(y + innerHeight + AHEAD), top: lineAt(ends, y), bottom: end(y + innerHeight) };
            setRange((was) => (was.from === r.from && was.to === r.to && was.top === r.top && was.bottom === r.bottom ? was : r));
        };
        look();
        addEventListener("scroll", look, { passive: true });
        addEventListener("resize", look);
        return () => {
            removeEventListener("scroll", look);
            removeEventListener("resize", look);
        };
    }, [long, lines.length, total]);

    const shown = long ? lines.slice(range.from, range.to) : [];
    const wait = !long || !exact ? -1 : chooseDue(drawn.current, shown, (i) => range.from + i >= range.top && range.from + i < range.bottom);
    useLayoutEffect(() => {
        const go = () => again({});
        const timer = wait > 0 ? setTimeout(go, wait) : 0;
        const frame = wait === 0 ? requestAnimationFrame(go) : 0;
        return () => {
            clearTimeout(timer);
            cancelAnimationFrame(frame);
        };
    });

    if (!long) {
        drawn.current.clear();
        const left = onPaper ? lines.length - PAPER : 0;
        return html`<div class="lines">${(left > 0 ? lines.slice(0, PAPER) : lines).map((l) => draw(l))}${left > 0 && html`<p class="dim">${say.moreLines(left)}</p>`}</div>`;
    }
    const above = range.from > 0 ? ends[Math.min(range.from, ends.length) - 1] : 0;
    return html`<div class="lines" ref=${box} style=${{ height: `${total}px` }} role=${items ? "list" : null}>
        ${exact ? placeLines(drawn.current, shown, above, items, draw) : html`<div style=${{ transform: `translateY(${above}px)` }}>${shown.map((l) => draw(l))}</div>`}
    </div>`;
}
