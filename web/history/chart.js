/* chart.js: one metric over time on a canvas: the mean as a line, least to most as a band, gaps as gaps, a limit as a
 * dashed line. Charts of a page share the moment that is pointed at; dragging over one zooms all. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { AXIS_PX, Cross, nearest } from "../kit/cross.js";
import { amount, time } from "../kit/format.js";
import { html } from "../kit/html.js";
import { dates } from "../kit/language.js";
import { sheet } from "../kit/sheet.js";
import { say } from "./words.en.js";

/**
 * A line: v is one value per x. low and high make its band.
 * @typedef {{ label: string, colour: string, v: (number | null)[], low?: (number | null)[], high?: (number | null)[] }} Line
 */

await sheet("later.css");

const HEIGHT_PX = 128;
const SMALL_PX = 80; /* one of several beside each other */
const BINARY = Array.from({ length: 60 }, (_, i) => 2 ** i); /* round steps of bytes */

/** What a custom property is worth just now, for canvases. @param {string} name */
function colourOf(name) {
    const probe = document.createElement("i");
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
}

/** The same with less of it. @param {string} name @param {number} share */
function faint(name, share) {
    return colourOf(name).replace(/^rgb\((.*)\)$/, (_, v) => `rgba(${v}, ${share})`);
}

/** Grows when colours change: the switch, or the system. */
export function useColours() {
    const [n, setN] = useState(0);
    useEffect(() => {
        const again = () => setN((v) => v + 1);
        const system = matchMedia("(prefers-color-scheme: dark)");
        const look = new MutationObserver(again);
        look.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
        system.addEventListener("change", again);
        return () => {
            look.disconnect();
            system.removeEventListener("change", again);
        };
    }, []);
    return n;
}

/** uPlot's columns: x, then per line its band and itself. @param {number[]} x @param {Line[]} lines @returns {any} */
function columns(x, lines) {
    return [x, ...lines.flatMap((l) => (l.low && l.high ? [l.high, l.low, l.v] : [l.v]))];
}

/** What it cannot exceed, in words. @param {any} u @param {{ value: number, words: string }} limit @param {boolean} [small] where there is room for the line alone */
function drawLimit(u, limit, small) {
    const { ctx, bbox } = u;
    const y = Math.round(u.valToPos(limit.value, "y", true)) + 0.5;
    if (y < bbox.top || y > bbox.top + bbox.height) return;
    const dot = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colourOf("dim");
    ctx.lineWidth = dot;
    ctx.setLineDash([4 * dot, 4 * dot]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    if (!small) {
        const at = /** @type {const} */ ([limit.words, bbox.left + bbox.width - 2 * dot, y + 2 * dot]);
        Object.assign(ctx, { font: `${11 * dot}px system-ui`, textAlign: "right", textBaseline: "top", strokeStyle: colourOf("bg"), lineWidth: 4 * dot, lineJoin: "round" });
        ctx.setLineDash([]);
        ctx.strokeText(...at); /* it stands out of a line behind it */
        ctx.fillText(...at);
    }
    ctx.restore();
}

/** @param {{ unit: string, lines: Line[], max?: number, limit?: { value: number, words: string }, zoom: (from: number, to: number) => void, width: number, small?: boolean }} o @returns {any} */
function options({ unit, lines, max, limit, zoom, width, small }) {
    const axis = { stroke: colourOf("dim"), font: "12px system-ui", ticks: { show: false }, grid: { stroke: colourOf("track"), width: 1 } };
    const series = [{}];
    const bands = [];
    for (const l of lines) {
        if (l.low && l.high) {
            const at = series.length;
            series.push({ stroke: "transparent", points: { show: false } }, { stroke: "transparent", points: { show: false } });
            bands.push({ series: [at, at + 1], fill: faint(l.colour, 0.25) });
        }
        series.push({ stroke: colourOf(l.colour), width: 1.25, points: { show: false } });
    }
    return {
        width,
        height: small ? SMALL_PX : HEIGHT_PX,
        padding: [8, 0, 0, 0],
        legend: { show: false },
        cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, x: false, y: false },
        scales: { y: { range: (/** @type {any} */ _, /** @type {number} */ lo, /** @type {number} */ hi) => [Math.min(0, lo ?? 0), max ?? Math.max(hi ?? 0, limit?.value ?? 0, 1e-9) * 1.05] } },
        axes: [
            { ...axis, size: 24, space: 80, values: (/** @type {any} */ u, /** @type {number[]} */ at) => ticks(u, at) },
            { ...axis, size: AXIS_PX, space: 32, ...(unit.startsWith("bytes") && { incrs: BINARY }), values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map((v) => amount(unit, v)) },
        ],
        series,
        bands,
        hooks: {
            draw: limit ? [(/** @type {any} */ u) => drawLimit(u, limit, small)] : [],
            setSelect: [
                (/** @type {any} */ u) => {
                    const { left, width: w } = u.select;
                    if (w < 4) return;
                    const at = [u.posToVal(left, "x"), u.posToVal(left + w, "x")];
                    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
                    zoom(at[0] * 1000, at[1] * 1000);
                },
            ],
        },
    };
}

const hour = dates({ timeStyle: "short" });
const second = dates({ timeStyle: "medium" });
const day = dates({ month: "short", day: "numeric" });
const month = dates({ month: "short", year: "numeric" });

/** Words for moments, as fine as they are apart. @param {any} u @param {number[]} at */
function ticks(u, at) {
    const apart = at.length > 1 ? at[1] - at[0] : (u.scales.x.max - u.scales.x.min) / 2;
    const words = apart >= 20 * 86400 ? month : apart >= 86400 ? day : apart >= 60 ? hour : second;
    const fits = (/** @type {number} */ s) => u.valToPos(s, "x") < u.bbox.width / devicePixelRatio - 28; /* it would be cut at the right edge */
    return at.map((s) => (fits(s) ? words.format(new Date(s * 1000)) : ""));
}

/** What a reader who does not see it is told. @param {Line[]} lines @param {string} unit */
function inWords(lines, unit) {
    const all = lines.flatMap((l) => l.v).filter((v) => v !== null);
    if (!all.length) return say.nothingKnown;
    return say.fromTo(amount(unit, Math.min(.../** @type {number[]} */ (all))), amount(unit, Math.max(.../** @type {number[]} */ (all))));
}

/**
 * from, to: the time shown, ms; x: moments, s. max: the top of the scale; absent: as high as it goes. limit: what it cannot exceed. moment: what is pointed at, ms. version changes with what is to be drawn.
 * @param {{ title: string, help?: string, unit: string, x: number[], lines: Line[], version: string, from: number, to: number, max?: number, limit?: { value: number, words: string }, small?: boolean,
 *   moment?: number, zoom: (from: number, to: number) => void }} props
 */
export function Chart({ title, help, unit, x, lines, version, from, to, max, limit, small, moment, zoom }) {
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    const plot = useRef(/** @type {any} */ (null));
    const colours = useColours();
    const shape = `${unit} ${max} ${limit?.words} ${lines.map((l) => `${l.label} ${l.colour} ${!!l.low}`)} ${colours}`;
    const last = useRef(zoom);
    last.current = zoom;

    useLayoutEffect(() => {
        const el = /** @type {HTMLElement} */ (box.current);
        const u = new uPlot(options({ unit, lines, max, limit, zoom: (a, b) => last.current(a, b), width: Math.max(el.clientWidth, 200), small }), columns(x, lines), el);
        u.over.addEventListener("dblclick", () => last.current(0, 0));
        plot.current = u;
        const look = new ResizeObserver(() => el.clientWidth > 0 && u.setSize({ width: el.clientWidth, height: small ? SMALL_PX : HEIGHT_PX }));
        look.observe(el);
        return () => {
            look.disconnect();
            u.destroy();
        };
    }, [shape]);
    useLayoutEffect(() => {
        plot.current.setData(columns(x, lines), false);
        plot.current.setScale("x", { min: from / 1000, max: to / 1000 });
    }, [shape, version, Math.floor(from / 1000), Math.floor(to / 1000)]);

    const i = moment === undefined ? x.length - 1 : nearest(x, moment / 1000);
    return html`<figure class="chart ${small ? "small" : ""}">
        <figcaption>
            <span class="name">${title}</span>
            <span class="values">
                ${lines.length > 1
                    ? lines.map((l) => html`<span class="value" style=${{ color: `var(--${l.colour})` }}>${l.label} ${amount(unit, l.v[i] ?? undefined)}</span>`)
                    : html`<span class="value">${amount(unit, lines[0]?.v[i] ?? undefined)}</span>`}
                ${moment === undefined && help && html`<span class="dim help-text">${help}</span>`}
                ${moment !== undefined && x[i] !== undefined && html`<span class="dim">${time(x[i] * 1000)}</span>`}
            </span>
        </figcaption>
        <div class="plot" role="img" aria-label="${title}: ${inWords(lines, unit)}${limit ? `; ${limit.words}` : ""}"><div ref=${box} /><${Cross} moment=${moment} from=${from} to=${to} axis /></div>
    </figure>`;
}

/** In its place while nothing is there to draw, and as high. @param {{ title: string, words: string, small?: boolean }} props */
export function NoChart({ title, words, small }) {
    return html`<figure class="chart ${small ? "small" : ""}"><figcaption><span class="name">${title}</span> <span class="dim">${words}</span></figcaption><div class="plot" /></figure>`;
}

/** Over charts that lack what the hub cannot read. @param {{ h: import("../kit/types").History }} props */
export function Damaged({ h }) {
    return h.damaged ? html`<p class="error" role="alert">${say.damaged}</p>` : null;
}
