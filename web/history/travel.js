/* travel.js: the whole cluster as it was at any moment: a slider over the last day, week or month, a thin strip of how
 * busy it was, so that one knows where to look, and play. The moment stands in the URL. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../kit/api.js";
import { exactTime } from "../kit/format.js";
import { html } from "../kit/html.js";
import { live } from "../kit/live.js";
import { setQuery, usePlace } from "../kit/router.js";
import { useLive } from "../kit/use.js";
import { RANGES } from "./history.js";

const SPANS = RANGES.filter(([name]) => ["1d", "1w", "1m"].includes(name));
const POINTS = 288;
const PAUSE_MS = 120; /* while dragging */
const PLAY_MS = 1000; /* a moment is looked at this long */
const PLAY_STEPS = 96; /* from one end to the other */

/** The last moment that is offered: the present, to the minute. */
const present = () => Math.floor(Date.now() / 60000) * 60000;

/** How busy the cluster was, 0 to 1, null where nothing is known. @param {{ v: (number | null)[] }} props */
function Strip({ v }) {
    /** @type {string[]} */
    const parts = [];
    let path = "";
    v.forEach((y, i) => {
        if (y !== null) path += `${path ? "L" : "M"}${i + 0.5} ${(100 - 100 * y).toFixed(1)}`;
        if ((y === null || i + 1 === v.length) && path) {
            parts.push(path);
            path = "";
        }
    });
    return html`<svg class="use-strip" viewBox="0 0 ${v.length} 100" preserveAspectRatio="none" aria-hidden="true">
        ${parts.map((d) => html`<path d=${d} />`)}
    </svg>`;
}

/** @param {{ length: number }} props */
function useStrip({ length }) {
    const [v, setV] = useState(/** @type {(number | null)[]} */ ([]));
    useEffect(() => {
        const stop = new AbortController();
        const to = present();
        const q = new URLSearchParams({ metric: "util", group: "all", from: `${to - length}`, to: `${to}`, points: `${POINTS}` });
        ask(`/api/v1/history?${q}`, { signal: stop.signal }).then(
            (h) => setV(h.series[0]?.v ?? []),
            () => {}, /* without it the slider works all the same */
        );
        return () => stop.abort();
    }, [length]);
    return v;
}

function Slider() {
    const { query } = usePlace();
    const { status, problem } = useLive();
    const [span, setSpan] = useState(SPANS[0][0]);
    const [playing, setPlaying] = useState(false);
    const length = SPANS.find(([name]) => name === span)?.[1] ?? SPANS[0][1];
    const strip = useStrip({ length });
    const to = present();
    const from = to - length;
    const at = Number(query.get("at")) || to;
    const timer = useRef(0);

    /** @param {number} ms @param {number} [after] */
    function travel(ms, after = 0) {
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => setQuery({ at: ms >= present() ? undefined : `${Math.round(ms)}` }), after);
    }

    useEffect(() => {
        if (!playing) return undefined;
        const next = setInterval(() => {
            const now = Number(new URLSearchParams(location.search).get("at")) || from;
            if (live.at !== undefined && Math.abs(live.at - now) > 1000) return; /* still on its way there */
            if (now + length / PLAY_STEPS >= present()) setPlaying(false);
            travel(now + length / PLAY_STEPS);
        }, PLAY_MS);
        return () => clearInterval(next);
    }, [playing, length]);

    const shown = Math.min(Math.max(at, from), to);
    return html`<div class="slider">
        <button type="button" aria-pressed=${playing} onClick=${() => {
            if (!playing && at >= to) travel(from);
            setPlaying(!playing);
        }}>${playing ? "pause" : "play"}</button>
        <label class="choice">last
            <select value=${span} onChange=${(/** @type {any} */ e) => setSpan(e.currentTarget.value)}>${SPANS.map(([name]) => html`<option value=${name} selected=${name === span}>${name}</option>`)}</select>
        </label>
        <div class="over-time">
            ${strip.length > 0 && html`<${Strip} v=${strip} />`}
            <input type="range" aria-label="Moment shown" aria-valuetext=${at >= to ? "now" : exactTime(at)} min=${from} max=${to} step="60000" value=${shown}
                onInput=${(/** @type {any} */ e) => {
                    setPlaying(false);
                    travel(Number(e.currentTarget.value), PAUSE_MS);
                }} />
        </div>
        <output>${at >= to ? "now" : exactTime(at)}</output>
        ${at < to && html`<button type="button" onClick=${() => {
            setPlaying(false);
            travel(to);
        }}>back to now</button>`}
        ${status === "past" && problem && html`<span class="error" role="alert">${problem.detail}</span>`}
    </div>`;
}

export function Travel() {
    const { query } = usePlace();
    const [open, setOpen] = useState(query.has("at"));
    return html`<details class="travel" open=${open} onToggle=${(/** @type {any} */ e) => setOpen(e.currentTarget.open)}>
        <summary>time travel</summary>
        ${open && html`<${Slider} />`}
    </details>`;
}
