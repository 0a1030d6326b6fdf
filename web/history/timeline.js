/* timeline.js: charts over one stretch of time, with their shared cursor, who was there, and what happened. What is live
 * goes on at the right edge. */
import { useEffect, useRef, useState } from "preact/hooks";
import { JobLanes, jobsOn } from "../jobs/lanes.js";
import { ask } from "../kit/api.js";
import { useMoment } from "../kit/cross.js";
import { Empty } from "../kit/empty.js";
import { metricLabel, metrics } from "../kit/facts.js";
import { html } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { setQuery, usePlace } from "../kit/router.js";
import { useTick } from "../kit/use.js";
import { Chart, Damaged, NoChart } from "./chart.js";
import { Events } from "./events.js";
import { helps } from "./helps.js";
import { history, stretch, whoWas } from "./history.js";
import { Lanes } from "./lanes.js";
import { Range } from "./range.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").History} History */
/** @typedef {import("../kit/types").Problem} Problem */

const POINTS = 500;
const AGAIN_MS = 60000; /* the whole is asked for again this often, or once per step */
const RETRY_MS = 10000; /* after a question that failed */

/**
 * device: what history is asked for; node, uuid: whose people and events. groups: charts, each of one metric or of
 * several lines. fresh: the newest values, to go on with between two questions. usual: the range where the URL names none. above: what stands over the charts; below: what comes after all, with it, so that nothing is pushed away. several: how many lines a device's metric has. limits: what a metric cannot exceed.
 * @param {{ device: string, node?: string, uuid?: string, names: string[], lines: (h: History, name: string) => import("./chart.js").Line[],
 *   limits: Record<string, { value: number, words: string } | undefined>, several?: number, below?: any, fresh?: { at: number | undefined, metrics: Record<string, number> }, usual?: string, above?: (shown: ReturnType<typeof stretch>) => any, children?: any }} props
 */
export function Timeline({ device, node, uuid, names, lines, limits, several = 1, below, fresh, usual, above, children }) {
    const { query } = usePlace();
    useTick();
    const shown = stretch(query, usual);
    const { from, to, live, range } = shown;
    const { moment, forget, on: pointing } = useMoment(from, to);
    const asked = live ? `${range}` : `${from}-${to}`;
    const [got, setGot] = useState(/** @type {{ asked: string, h: History, who: any, jobs: any, events: any[], at: number } | null} */ (null));
    const [wrong, setWrong] = useState(/** @type {Problem | null} */ (null));
    const [turn, setTurn] = useState(0);
    const tail = useRef(/** @type {{ at: number, metrics: Record<string, number> }[]} */ ([]));

    useEffect(() => {
        const stop = new AbortController();
        let timer = 0;
        const { from: f, to: t } = stretch(query, usual);
        const events = new URLSearchParams({ from: `${Math.floor(f)}`, limit: "200" });
        if (node) events.set("node", node);
        Promise.all([
            history({ device, names, from: f, to: t, points: POINTS, signal: stop.signal }),
            whoWas({ node, device: uuid, from: f, to: t, signal: stop.signal }),
            node ? ask(`/api/v1/events?${events}`, { signal: stop.signal }) : [],
            node || uuid ? jobsOn({ node, device: uuid, from: f, to: t, signal: stop.signal }) : { jobs: [], more: false },
        ]).then(
            ([h, who, all, jobs]) => {
                tail.current = [];
                setWrong(null);
                setGot({ asked, h, who, jobs, events: all.filter((/** @type {any} */ e) => e.at < t && (!uuid || !e.device || e.device === uuid)), at: hubNow() });
            },
            (e) => {
                if (stop.signal.aborted) return;
                setWrong(e);
                timer = window.setTimeout(() => setTurn(turn + 1), RETRY_MS);
            },
        );
        return () => {
            clearTimeout(timer);
            stop.abort();
        };
    }, [device, node, uuid, `${names}`, asked, turn]);

    const due = got && live && hubNow() - got.at > Math.max(AGAIN_MS, got.h.step);
    useEffect(() => {
        if (due) setTurn(turn + 1);
    }, [due]);

    if (wrong && !got) return html`<${Range} range=${range} from=${from} to=${to} /><${Empty} title=${say.noPast}><p>${wrong.detail}</p><//>`;
    if (!got) {
        return html`<div class="timeline"><div class="over"><${Range} range=${range} from=${from} to=${to} />${children}</div>${above?.(shown)}
            ${names.map((name) => {
                const many = several > 1 && metrics.get(name)?.scope === "device";
                if (!many) return html`<${NoChart} title=${metricLabel(name)} words=${say.reading} />`;
                return html`<section class="multiples"><h2>${metricLabel(name)} <span class="dim">${say.reading}</span></h2><div>${Array.from({ length: several }, () => html`<${NoChart} title="" words="" small />`)}</div></section>`;
            })}</div>`;
    }

    const { h } = got;
    const x = h.series[0]?.v.map((_, i) => (h.from + (i + 0.5) * h.step) / 1000) ?? [];
    const last = tail.current.at(-1)?.at ?? got.at;
    if (live && fresh?.at && fresh.at > last && h.step <= AGAIN_MS) tail.current.push({ at: fresh.at, metrics: fresh.metrics });
    const more = live ? tail.current : [];
    const zoom = (/** @type {number} */ a, /** @type {number} */ b) => {
        forget(); /* the mouse is over another moment now */
        setQuery(b > a ? { from: `${Math.round(a)}`, to: `${Math.round(b)}`, range: range || query.get("range") || undefined } : { from: undefined, to: undefined }, true);
    };
    const empty = h.series.every((s) => s.v.every((v) => v === null)) && !more.length;

    return html`<div class="timeline" ...${pointing}>
        <div class="over"><${Range} range=${range} from=${from} to=${to} />${children}</div>
        ${above?.(shown)}
        ${wrong && html`<p class="error" role="alert">${wrong.detail}</p>`}
        <${Damaged} h=${h} />
        ${empty && html`<p class="dim">${live ? say.nothingStoredYet : say.nothingStoredThen}</p>`}
        ${!empty && names.map((name) => {
            const drawn = lines(h, name);
            if (!drawn.length || drawn.every((l) => l.v.every((v) => v === null))) return html`<${NoChart} key=${name} title=${metricLabel(name)} words=${say.nothingKnownOfIt} />`;
            const goesOn = more.length > 0 && drawn.length === 1 && metrics.get(name)?.kind !== "counter";
            const on = goesOn ? more.map((m) => m.metrics[name] ?? null) : [];
            const grown = drawn.map((l) => ({ ...l, v: [...l.v, ...on], low: l.low && [...l.low, ...on], high: l.high && [...l.high, ...on] }));
            const s = h.series.find((one) => one.metric === name);
            const chart = (/** @type {import("./chart.js").Line[]} */ some, /** @type {string} */ words, /** @type {boolean} */ small) => html`<${Chart} key=${`${name} ${words}`} title=${words}
                help=${small ? undefined : helps.get(name)} unit=${s?.unit ?? ""} x=${goesOn ? [...x, ...more.map((m) => m.at / 1000)] : x} lines=${some}
                version=${`${got.at} ${more.length}`} from=${from} to=${to} max=${metrics.get(name)?.unit === "ratio" ? 1 : small ? highest(grown, limits[name]?.value) : undefined} limit=${limits[name]} small=${small} moment=${moment} zoom=${zoom} />`;
            if (grown.length === 1) return chart(grown, metricLabel(name), false);
            return html`<section class="multiples" key=${name} aria-label=${metricLabel(name)}><h2>${metricLabel(name)} <span class="dim">${helps.get(name)}${limits[name] ? `; ${limits[name].words}` : ""}</span></h2>
                <div>${grown.map((l) => chart([l], l.label, true))}</div></section>`;
        })}
        <${Lanes} spans=${got.who.spans} more=${got.who.more} from=${from} to=${to} moment=${moment} />
        <${JobLanes} jobs=${got.jobs.jobs} more=${got.jobs.more} from=${from} to=${to} moment=${moment} />
        ${node && html`<${Events} events=${got.events} label=${say.whatHappened} />`}
        <p class="dim">${say.perPoint(stepWords(h.step), h.filled)}; ${say.howToZoom}</p>
        ${below}
    </div>`;
}

/** So that charts beside each other have one scale. @param {import("./chart.js").Line[]} lines @param {number} [limit] */
function highest(lines, limit = 0) {
    return Math.max(1e-9, limit, ...lines.flatMap((l) => l.high ?? l.v).filter((v) => v !== null)) * 1.05;
}

/** @param {number} ms */
function stepWords(ms) {
    const units = [86400000, 3600000, 60000, 1000];
    const i = Math.max(0, units.findIndex((size) => ms >= size && ms % size === 0));
    return say.step(ms / units[i], i);
}
