/* grid.js: Now as a heat grid: every GPU a small square on one screen, brighter the more it works (or as another metric says), with an outline and a mark
 * by its state. It is a picture, of which only what changed is painted again; the one cell that is pointed at or has the focus is a link over it. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Choice, chosen } from "../kit/choice.js";
import { stateName, states } from "../kit/facts.js";
import { percent } from "../kit/format.js";
import { html } from "../kit/html.js";
import { devicesOf, fullness, holderOf, indexOf, isFresh, nodeName } from "../kit/model.js";
import { sheet } from "../kit/sheet.js";
import { useWindow } from "../kit/use.js";
import { fitGrid } from "./grid_fit.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */
/** @typedef {import("./grid_fit.js").Spot} Spot */

await sheet("later.css");

const HEAD = 184; /* px for names of groups */
const BELOW = 48; /* px under the strip of the last day */
const LEAST = 160; /* px of height, however low the window is */
const LEVELS = 20;
const FAINT = 7; /* of these: the outline of what is busy and does nothing */

/** What brightness tells, 0 to 1. @type {[string, string, (d: Device) => number | undefined, string, string][]} */
const HEATS = [
    ["use", say.use, (d) => d.metrics.util, "0 %", "100 %"],
    ["memory", say.memory, fullness, "0 %", "100 %"],
    ["power", say.power, (d) => (d.metrics.power === undefined || !d.metrics.power_limit ? undefined : d.metrics.power / d.metrics.power_limit), "0 %", say.ofLimit],
    ["temperature", say.temperature, (d) => (d.metrics.temp === undefined ? undefined : (d.metrics.temp - 30) / 60), "30 °C", "90 °C"],
];

/** @param {Device} d @param {(d: Device) => number | undefined} of -1: not known */
function levelOf(d, of) {
    const v = isFresh(d) ? of(d) : undefined;
    return v === undefined ? -1 : Math.round(Math.min(1, Math.max(0, v)) * LEVELS);
}

/* ---- painting ---- */

/** Colours as the theme has them now. @param {Element} el */
function palette(el) {
    const probe = document.createElement("i");
    el.append(probe);
    const of = (/** @type {string} */ value) => {
        probe.style.color = value;
        return getComputedStyle(probe).color;
    };
    const p = {
        ink: of("var(--dim)"),
        ground: of("var(--bg)"),
        states: Object.fromEntries(states.map(({ word }) => [word, of(`var(--${word === "unknown" || word === "starting" ? "stale" : word})`)])),
        levels: Array.from({ length: LEVELS + 1 }, (_, i) => of(`color-mix(in srgb, var(--busy) ${8 + Math.round((92 * i) / LEVELS)}%, var(--bg))`)),
    };
    probe.remove();
    return p;
}

/** One cell: brightness inside, outline and a mark by state, so that colour is never all that tells. @param {CanvasRenderingContext2D} c @param {ReturnType<typeof palette>} p @param {number} x @param {number} y @param {number} size @param {string} state @param {number} level */
function paint(c, p, x, y, size, state, level) {
    const s = size - 1;
    const line = size >= 12 && state !== "busy" ? 2 : 1;
    c.fillStyle = p.ground;
    c.fillRect(x, y, size, size);
    if (level >= 0) {
        c.fillStyle = p.levels[level];
        c.fillRect(x, y, s, s);
    }
    c.strokeStyle = c.fillStyle = state === "busy" ? p.levels[Math.max(level, FAINT)] : p.states[state] ?? p.ink; /* brightness is most of what a busy one tells */
    c.lineWidth = line;
    c.setLineDash(state === "stale" || state === "starting" || state === "unknown" ? [2, 2] : []);
    c.strokeRect(x + line / 2, y + line / 2, s - line, s - line);
    c.setLineDash([]);
    c.beginPath();
    if (state === "held") {
        c.moveTo(x, y + s); /* half of it */
        c.lineTo(x + s, y + s);
        c.lineTo(x + s, y);
        c.fill();
    } else if (state === "hung" || state === "lost") {
        c.moveTo(x, y);
        c.lineTo(x + s, y + s);
        if (state === "hung") {
            c.moveTo(x + s, y);
            c.lineTo(x, y + s);
        }
        c.stroke();
    }
}

/** Sharp on every screen. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
function sizeOf(canvas, width, height) {
    const dots = devicePixelRatio || 1;
    canvas.width = Math.round(width * dots);
    canvas.height = Math.round(height * dots);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    c.setTransform(dots, 0, 0, dots, 0, 0);
    return c;
}

/** A cell of the legend, painted as those of the grid. @param {{ state: string, level: number, theme: string }} props */
function Swatch({ state, level, theme }) {
    const ref = useRef(/** @type {HTMLCanvasElement | null} */ (null));
    useLayoutEffect(() => {
        if (ref.current) paint(sizeOf(ref.current, 14, 14), palette(/** @type {Element} */ (ref.current.parentElement)), 0, 0, 15, state, level);
    }, [state, level, theme]);
    return html`<canvas ref=${ref} aria-hidden="true" />`;
}

/* ---- the view ---- */

/** For those who do not see it. @param {Node} n @param {Device} d */
function label(n, d) {
    const who = holderOf(d);
    const use = isFresh(d) && d.metrics.util !== undefined ? `, ${say.used(percent(d.metrics.util))}` : "";
    return `${nodeName(n)} GPU ${indexOf(d)}: ${stateName(d.state)}${who ? `, ${who}` : ""}${use}${d.service ? `, ${say.needsService(d.service)}` : ""}`;
}

/** Who is at a spot now. @param {Map<string, Node>} now @param {Spot} s */
function deviceAt(now, { id, uuid, k }) {
    const n = now.get(id);
    const d = n && devicesOf(n)[k];
    return d?.uuid === uuid ? d : n?.devices.find((one) => one.uuid === uuid);
}

/** The spot that a key leads to: the next one in its line, or the nearest in the line above or below. @param {Spot[]} spots @param {number} i @param {string} key */
export function spotFor(spots, i, key) {
    if (key === "ArrowRight") return Math.min(spots.length - 1, i + 1);
    if (key === "ArrowLeft") return Math.max(0, i - 1);
    if (key === "Home") return 0;
    if (key === "End") return spots.length - 1;
    const [down, here] = [key === "ArrowDown", spots[i]];
    let [best, least] = [i, Infinity];
    spots.forEach((s, k) => {
        const away = down ? s.y - here.y : here.y - s.y;
        const far = away * 10000 + Math.abs(s.x - here.x);
        if (away > 0 && far < least) [best, least] = [k, far];
    });
    return best;
}

const KEYS = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"];

/** @param {{ groups: import("./order.js").Group[], now: Map<string, Node>, width: number }} props */
export function Grid({ groups, now, width }) {
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
    const link = useRef(/** @type {HTMLElement | null} */ (null));
    const drawn = useRef({ key: "", fit: /** @type {import("./grid_fit.js").Fit | null} */ (null), of: /** @type {number[]} */ ([]), colours: /** @type {ReturnType<typeof palette> | null} */ (null) });
    const [room, setRoom] = useState(0);
    const [at, setAt] = useState("");
    const moved = useRef("");
    const down = useRef(/** @type {PointerEvent | null} */ (null));
    const tapped = useRef(/** @type {PointerEvent | null} */ (null));
    const measure = () => {
        const strip = document.querySelector(".travel")?.getBoundingClientRect().height ?? 0;
        if (box.current) setRoom(Math.max(LEAST, Math.floor(innerHeight - (box.current.getBoundingClientRect().top + scrollY) - strip - BELOW)));
    };
    useLayoutEffect(measure, [width, groups]);
    useWindow("resize", measure);

    const [, setTheme] = useState(0);
    useEffect(() => {
        /* colours follow the switch and the system */
        const again = () => setTheme((n) => n + 1);
        const look = new MutationObserver(again);
        const dark = matchMedia("(prefers-color-scheme: dark)");
        look.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
        dark.addEventListener("change", again);
        return () => {
            look.disconnect();
            dark.removeEventListener("change", again);
        };
    }, []);

    const heat = chosen("heat", HEATS.map(([v, words]) => [v, words]), "use", true);
    const [, , of, low, high] = HEATS.find(([v]) => v === heat) ?? HEATS[0];
    const head = groups.length > 1 || groups[0]?.title ? Math.min(HEAD, width / 4) : 0;
    const many = [...now.values()].reduce((sum, n) => sum + devicesOf(n).length, 0);
    const fit = useMemo(() => (width && room ? fitGrid(groups, now, width, room, head) : null), [groups, width, room, head, many]); /* places stay while live */
    const theme = box.current ? getComputedStyle(box.current).backgroundColor + getComputedStyle(box.current).color : "";

    useLayoutEffect(() => {
        if (!fit || !canvas.current || !box.current) return;
        const key = `${devicePixelRatio} ${theme}`;
        const whole = fit !== drawn.current.fit || key !== drawn.current.key; /* places are others after a sort, too */
        const c = whole ? sizeOf(canvas.current, width, fit.height) : /** @type {CanvasRenderingContext2D} */ (canvas.current.getContext("2d"));
        if (whole) drawn.current = { key, fit, of: [], colours: palette(box.current) };
        const p = /** @type {ReturnType<typeof palette>} */ (drawn.current.colours);
        if (whole) {
            c.font = "12px system-ui, sans-serif";
            c.textBaseline = "middle";
            c.fillStyle = p.ink;
            for (const l of fit.labels) c.fillText(l.text, l.x, l.y + fit.size / 2, fit.names - 4);
        }
        fit.spots.forEach((s, i) => {
            const d = deviceAt(now, s);
            if (!d) return;
            const level = levelOf(d, of);
            const looks = states.findIndex((s) => s.word === d.state) * 100 + level;
            if (drawn.current.of[i] === looks) return;
            drawn.current.of[i] = looks;
            paint(c, p, s.x, s.y, fit.size, d.state, level);
        });
    });
    /** A tap on the picture is one on the link that is there now. */
    const passOn = () => {
        const tap = tapped.current;
        tapped.current = null;
        if (tap) link.current?.dispatchEvent(tap);
    };
    useLayoutEffect(() => {
        if (moved.current && moved.current === at) link.current?.focus();
        moved.current = "";
        passOn();
    }, [at]);

    const index = fit ? Math.max(0, fit.spots.findIndex((s) => s.uuid === at)) : 0;
    const spot = fit?.spots[index];
    const [node, device] = spot ? [now.get(spot.id), deviceAt(now, spot)] : [];
    const free = (/** @type {import("./grid_fit.js").Head} */ h) => say.freeIn(fit?.spots.slice(h.first, h.first + h.count).filter((s) => deviceAt(now, s)?.state === "free").length, h.count);

    /** @param {any} e */
    const under = (e) => {
        const { left, top } = /** @type {HTMLElement} */ (canvas.current).getBoundingClientRect();
        const [x, y] = [e.clientX - left, e.clientY - top];
        return fit?.spots.find((s) => x >= s.x && x < s.x + fit.size && y >= s.y && y < s.y + fit.size);
    };
    /** @param {any} e */
    const point = (e) => {
        const s = under(e);
        if (!s || s.uuid === at) return;
        if (document.activeElement === link.current) moved.current = s.uuid; /* the link goes, its focus does not */
        setAt(s.uuid);
    };
    /** A finger points and asks at once. Where it came down counts: a browser moves a tap to a link that is near. @param {any} e */
    const tap = (e) => {
        const s = e.isTrusted && under(e.pointerType === "touch" ? down.current ?? e : e);
        if (!s || (e.target === link.current && s.uuid === link.current?.dataset.uuid)) return;
        e.preventDefault();
        e.stopPropagation();
        tapped.current = new PointerEvent("click", { bubbles: true, cancelable: true, pointerType: e.pointerType || "mouse" });
        if (s.uuid === link.current?.dataset.uuid) passOn();
        else setAt(s.uuid);
    };
    /** @param {any} e */
    const onKey = (e) => {
        if (!fit || !KEYS.includes(e.key) || e.ctrlKey || e.metaKey || e.altKey) return;
        e.preventDefault();
        e.stopPropagation();
        moved.current = fit.spots[spotFor(fit.spots, index, e.key)].uuid;
        setAt(moved.current);
    };
    return html`<div class="heat-legend">
            <${Choice} name="heat" label=${say.brightness} options=${HEATS.map(([v, words]) => [v, words])} value=${heat} otherwise="use" remember />
            <span class="dim">${low} ${[0, 5, 10, 15, 20].map((l) => html`<${Swatch} state="busy" level=${l} theme=${theme} />`)} ${high}</span>
            ${states.filter((s) => s.word !== "busy").map((s) => html`<span class="dim" title=${s.meaning}><${Swatch} state=${s.word} level=${-1} theme=${theme} /> ${stateName(s.word)}</span>`)}
        </div>
        <div class="heat-grid" ref=${box} role="group" aria-label=${say.gridLabel} onPointerMove=${point} onPointerDown=${(/** @type {any} */ e) => (down.current = e)} onClickCapture=${tap} style=${{ height: fit ? `${fit.height}px` : "auto" }}>
            <canvas ref=${canvas} aria-hidden="true" />
            ${fit?.heads.map((h) => html`<h2 key=${h.title} style=${{ top: `${h.y}px`, width: `${head - 8}px`, height: `${h.height}px` }} title="${h.title}: ${free(h)}">${h.title} <span class="dim">${free(h)}</span></h2>`)}
            ${spot && fit && node && device && html`<a key=${spot.uuid} ref=${link} class="heat-at" href="/gpu/${encodeURIComponent(spot.uuid)}" data-uuid=${spot.uuid} aria-label=${label(node, device)} onKeyDown=${onKey}
                style=${{ left: `${spot.x}px`, top: `${spot.y}px`, width: `${fit.size - 1}px`, height: `${fit.size - 1}px` }} />`}
        </div>`;
}
