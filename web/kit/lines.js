/* lines.js: a long list of which only what is near the window exists. Short lists are there whole, so that the browser
 * finds them; long ones have lines of known height, and are there whole when they are printed. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { useWindow } from "./use.js";
import { say } from "./words.en.js";

/** @typedef {{ key: string, height: number, what: any }} Line height in pixels, at least roughly */

const WHOLE = 120; /* lines */
const PAPER = 2000; /* lines */
const AHEAD = 800; /* pixels beyond the window's edges */

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

/** @param {{ lines: Line[], draw: (line: Line, fixed: boolean) => any }} props */
export function Lines({ lines, draw }) {
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    const [range, setRange] = useState({ from: 0, to: 40 });
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
        let asked = 0;
        const look = () => {
            asked = 0;
            if (!box.current) return;
            const top = -box.current.getBoundingClientRect().top;
            const from = lineAt(ends, top - AHEAD);
            const to = Math.min(lines.length, lineAt(ends, top + innerHeight + AHEAD) + 1);
            setRange((r) => (r.from === from && r.to === to ? r : { from, to }));
        };
        const soon = () => {
            asked ||= requestAnimationFrame(look);
        };
        look();
        addEventListener("scroll", soon, { passive: true });
        addEventListener("resize", soon);
        return () => {
            removeEventListener("scroll", soon);
            removeEventListener("resize", soon);
            cancelAnimationFrame(asked);
        };
    }, [long, lines.length, total]);

    if (!long) {
        const left = onPaper ? lines.length - PAPER : 0;
        return html`<div class="lines">${(left > 0 ? lines.slice(0, PAPER) : lines).map((l) => draw(l, false))}${left > 0 && html`<p class="dim">${say.moreLines(left)}</p>`}</div>`;
    }
    const shown = lines.slice(range.from, range.to);
    const above = range.from > 0 ? ends[Math.min(range.from, ends.length) - 1] : 0;
    return html`<div class="lines" ref=${box} style=${{ height: `${total}px` }}>
        <div style=${{ transform: `translateY(${above}px)` }}>${shown.map((l) => draw(l, true))}</div>
    </div>`;
}
