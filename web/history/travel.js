/* travel.js: how busy the cluster was over the last day, week or month, and which alerts began; the strip is a slider that shows the whole cluster as it
 * was at any moment, and plays it. The moment stands in the URL. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useAlerts } from "../alert/alerts.js";
import { ask } from "../kit/api.js";
import { exactTime, moment, percent } from "../kit/format.js";
import { html } from "../kit/html.js";
import { live } from "../kit/live.js";
import { setQuery, usePlace } from "../kit/router.js";
import { useLive, useWindow, whileSeen } from "../kit/use.js";
import { RANGES } from "./history.js";
import { ticks } from "./ticks.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Alert} Alert */
/** @typedef {{ from: number, step: number, v: (number | null)[], alerts: Alert[] }} Past */

const SPANS = RANGES.filter(([name]) => ["1d", "1w", "1m"].includes(name));
const POINTS = 288;
const PAUSE_MS = 120; /* while dragging */
const PLAY_MS = 1000; /* a moment is looked at this long */
const PLAY_STEPS = 96; /* from one end to the other */
const NEAR_PX = 6;
const WORDS = 9; /* along the axis; a narrow window shows every other one, whatever it was when they were made */
const LEAST_MS = 1e11; /* a smaller number in an address is seconds, or how long ago: the hub reads it */
const MARK_PX = 16; /* of the window's width for each mark of an alert: the strip is not all of it */

/** The last moment that is offered: the present, to the minute. */
const present = () => Math.floor(Date.now() / 60000) * 60000;

/** The moment of an address; of what only the hub reads, as -12h or an ISO time, the one that it shows. @param {URLSearchParams} query */
function askedMoment(query) {
    const text = query.get("at");
    return text && !(Number(text) >= LEAST_MS) ? live.at : Number(text) || undefined;
}

const windowWidth = () => document.documentElement.clientWidth;

/** How busy it was, 0 to 1, null where nothing is known: an area for each stretch without a gap. @param {{ past: Past, from: number, to: number }} props */
function Area({ past, from, to }) {
    const x = (/** @type {number} */ i) => ((1000 * (past.from + i * past.step - from)) / (to - from)).toFixed(1);
    /** @type {string[]} */
    const parts = [];
    let line = "";
    let start = 0;
    past.v.forEach((y, i) => {
        if (y !== null && !line) start = i;
        if (y !== null) line += `L${x(i)} ${(100 - 100 * y).toFixed(1)}L${x(i + 1)} ${(100 - 100 * y).toFixed(1)}`;
        if ((y === null || i + 1 === past.v.length) && line) {
            parts.push(`M${x(start)} 100${line}V100Z`);
            line = "";
        }
    });
    return html`<svg class="use-strip" viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">${parts.map((d) => html`<path d=${d} />`)}</svg>`;
}

/** Asked for again as time goes on by a step. @param {number} length @param {number} to @returns {Past | null} */
function usePast(length, to) {
    const [past, setPast] = useState(/** @type {Past | null} */ (null));
    const turn = Math.floor(to / (length / POINTS));
    useEffect(() => {
        const stop = new AbortController();
        const q = new URLSearchParams({ metric: "util", group: "all", from: `${to - length}`, to: `${to}`, points: `${POINTS}` });
        Promise.all([ask(`/api/v1/history?${q}`, { signal: stop.signal }), ask("/api/v1/alerts?all", { signal: stop.signal })]).then(
            ([h, { rows }]) => setPast({ from: h.from, step: h.step, v: h.series[0]?.v ?? [], alerts: rows.filter((/** @type {Alert} */ a) => !a.notice && a.since < to) }),
            () => {}, /* without it the slider works all the same */
        );
        return () => stop.abort();
    }, [length, turn]);
    return past;
}

/** What a moment of the strip tells when one points at it. @param {{ past: Past, t: number, near: number }} props near: so far off an alert belongs to it */
function Tip({ past, t, near }) {
    const use = past.v[Math.floor((t - past.from) / past.step)];
    const alerts = past.alerts.filter((a) => Math.abs(a.since - t) <= near);
    return html`${moment(t, Date.now())}${typeof use === "number" && `, ${say.used(percent(use))}`}${alerts.slice(0, 4).map((a) => html`<br /><span class=${a.severity}>▲</span> ${a.place}: ${a.rule}`)}${alerts.length > 4 && html`<br />${say.more(alerts.length - 4)}`}`;
}

export function Travel() {
    const { query } = usePlace();
    const { status, problem } = useLive(() => `${live.status} ${live.problem?.detail} ${live.at} ${present()}`);
    const to = present();
    const at = askedMoment(query) ?? to;
    const fitting = () => (SPANS.find(([, ms]) => at >= to - ms) ?? SPANS[SPANS.length - 1])[0];
    const [span, setSpan] = useState(fitting); /* a link to last week begins with the week */
    const [playing, setPlaying] = useState(false);
    const [pointed, setPointed] = useState(/** @type {{ share: number, width: number } | null} */ (null));
    const length = SPANS.find(([name]) => name === span)?.[1] ?? SPANS[0][1];
    const from = to - length;
    const past = usePast(length, to);
    const [width, setWidth] = useState(windowWidth());
    useWindow("resize", () => setWidth(windowWidth()));
    const timer = useRef(0);

    /** To a moment, or to now. @param {number | undefined} ms @param {number} [after] */
    function travel(ms, after = 0) {
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => setQuery({ at: ms === undefined ? undefined : `${Math.round(ms)}` }), after);
    }

    useEffect(() => {
        if (at < from - length / PLAY_STEPS) setSpan(fitting());
    }, [at]);

    useEffect(() => {
        if (!playing) return undefined;
        return whileSeen(() => {
            const now = askedMoment(new URLSearchParams(location.search)) ?? from;
            if (live.at !== undefined && Math.abs(live.at - now) > 1000) return; /* still on its way there */
            const next = now + length / PLAY_STEPS;
            if (next >= present()) setPlaying(false);
            travel(next < present() ? next : undefined);
        }, PLAY_MS);
    }, [playing, length]);

    /** @param {any} e */
    function point(e) {
        const { left, width } = e.currentTarget.getBoundingClientRect();
        setPointed({ share: Math.min(1, Math.max(0, (e.clientX - left) / width)), width });
    }

    const left = (/** @type {number} */ t) => ({ left: `${(100 * (t - from)) / length}%` });
    const alerts = past?.alerts.filter((a) => a.since >= from) ?? [];
    const { firing: firingNow } = useAlerts(true);
    const firing = at >= to ? firingNow : (past?.alerts.filter((a) => a.since <= at && (a.resolved ?? Infinity) > at).length ?? 0);
    const places = Math.round(width / MARK_PX);
    const place = (/** @type {Alert} */ a) => Math.round((places * (a.since - from)) / length);
    const marks = new Map(alerts.map((a) => [place(a), a])); /* many begin at about the same time: one mark */
    for (const a of alerts) if (a.severity === "critical") marks.set(place(a), a);
    const words = ticks(from, to, WORDS).filter((t) => to - t.at > length / WORDS / 2); /* one at the very end would be cut */
    const day = Math.max(words.findIndex((t) => t.first), 0);
    const fine = (/** @type {number} */ i) => (words.length > WORDS / 2 && (i - day) % 2) || to - words[i].at < length / WORDS;
    return html`<section class="travel" aria-label=${say.overTime}>
        <span class="play"><button type="button" aria-pressed=${playing} onClick=${() => {
            if (!playing && at >= to) travel(from);
            setPlaying(!playing);
        }}>${playing ? say.pause : say.play}</button>
        <label class="choice">${say.last}
            <select value=${span} onChange=${(/** @type {any} */ e) => setSpan(e.currentTarget.value)}>${SPANS.map(([name]) => html`<option value=${name} selected=${name === span}>${say.ranges[name] ?? name}</option>`)}</select>
        </label></span>
        <div class="over-time">
            <div class="plot-time" onPointerMove=${point} onPointerLeave=${() => setPointed(null)}>
                ${past && html`<${Area} past=${past} from=${from} to=${to} />`}
                ${past && past.v.every((v) => v === null) && html`<span class="dim">${say.nothingYet}</span>`}
                ${[...marks].map(([at, a]) => html`<i key=${a.id} class="began ${a.severity}" style=${left(from + (at * length) / places)} aria-hidden="true">▲</i>`)}
                ${pointed && past && html`<span class="tip" aria-hidden="true" style=${pointed.share < 0.5 ? { left: `${100 * pointed.share}%` } : { right: `${100 - 100 * pointed.share}%` }}><${Tip} past=${past} t=${from + pointed.share * length} near=${(NEAR_PX * length) / pointed.width} /></span>`}
                <input type="range" aria-label=${say.momentShown} aria-valuetext=${at >= to ? say.now : exactTime(at)} min=${from} max=${to} step="60000" value=${Math.min(Math.max(at, from), to)}
                    onInput=${(/** @type {any} */ e) => {
                        const ms = Number(e.currentTarget.value);
                        setPlaying(false);
                        travel(ms < to ? ms : undefined, PAUSE_MS); /* its end is now, though a minute has gone by since it was drawn */
                    }} />
            </div>
            <div class="time-axis" aria-hidden="true">${words.map((t, i) => html`<span key=${t.at} class="${t.first ? "day" : ""} ${fine(i) ? "fine" : ""}" style=${left(t.at)}>${t.words}</span>`)}</div>
        </div>
        <div class="moment">
            <output title=${exactTime(at)}>${at >= to ? say.now : moment(at, to)}</output>
            <button type="button" disabled=${at >= to} onClick=${() => {
                setPlaying(false);
                travel(undefined);
            }}>${say.backToNow}</button>
            ${status === "past" && problem ? html`<span class="error" role="alert">${problem.detail}</span>` : html`<a class="dim" href="/alerts?all=yes">▲ ${say.alerts(firing)}</a>`}
        </div>
    </section>`;
}
