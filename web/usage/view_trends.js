/* view_trends.js: the view /trends: what all GPUs did over weeks, what a week is like hour by hour, and calendar months with the month before. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Choice, chosen } from "../kit/choice.js";
import { Empty } from "../kit/empty.js";
import { count, percent, power, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, watch } from "../kit/live.js";
import { usePlace } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { useWidth } from "../kit/use.js";
import { Stack } from "./stack.js";
import { Tabs } from "./tabs.js";
import { allOf, meansOf, weekOf } from "./trends.js";
import { askUsage, dayLabel, figure, usageUrl } from "./usage.js";

/** @typedef {import("./trends.js").Mean} Mean */
/** @typedef {import("../kit/types").Problem} Problem */
/** @typedef {import("../kit/types").UsageRow} UsageRow */

await sheet("later.css");

/** @type {[string, string][]} */
const LAST = [["28d", "4 weeks"], ["91d", "13 weeks"], ["365d", "year"]];
const WEEKS = "28d"; /* what a week is like is made of these */
const MONTHS = 12;
/** @type {[keyof Mean, string, string][]} */
const PARTS = [["busy", "at work", "busy"], ["idle", "held without work", "held"], ["unused", "booked, nobody on it", "line4"], ["free", "free", "free"], ["down", "not heard of", "stale"]];
/** What the week shows. @type {Record<string, { words: string, of: (m: Mean) => number, write: (v: number) => string, short: (v: number) => string }>} */
const WEEK = {
    work: { words: "at work", of: (m) => m.busy / allOf(m), write: (v) => `${percent(v)} of all GPUs at work`, short: (v) => `${Math.round(v * 100)}` },
    held: { words: "held", of: (m) => (m.busy + m.idle) / allOf(m), write: (v) => `${percent(v)} of all GPUs held`, short: (v) => `${Math.round(v * 100)}` },
    free: { words: "free", of: (m) => m.free, write: (v) => `${figure(v, 1)} GPUs free`, short: (v) => figure(v, v < 10 ? 1 : 0) },
    power: { words: "power", of: (m) => m.power, write: (v) => power(v), short: (v) => figure(v / 1000, v < 10000 ? 1 : 0) },
};
const UNITS = { work: "% of all GPUs", held: "% of all GPUs", free: "GPUs", power: "kW" };
const MOST_SHADE = 50; /* percent of colour: more would hide the numbers */

/** The first of the month, so many months ago. @param {number} months */
function firstOf(months) {
    const d = new Date(hubNow());
    return new Date(Date.UTC(d.getUTCFullYear(), d.getUTCMonth() - months, 1)).toISOString().slice(0, 10);
}

/** @param {string} last */
function useTrends(last) {
    const [got, setGot] = useState(/** @type {{ last: string, period: string, over: Mean[], hours: Mean[], months: Mean[], total?: UsageRow, waiting?: number, zone: string, currency: string } | null} */ (null));
    const [wrong, setWrong] = useState(/** @type {Problem | null} */ (null));
    useEffect(() => {
        const period = last === "365d" ? "week" : "day";
        const question = (/** @type {string} */ of, /** @type {string} */ per) => usageUrl({ by: "model", last: of, period: per });
        return askUsage(
            [question(last, period), question(WEEKS, "hour"), `/api/v1/usage?by=model&period=month&from=${firstOf(MONTHS)}`],
            ([over, hours, months]) => {
                setWrong(null);
                setGot({ last, period, over: meansOf(over), hours: meansOf(hours), months: meansOf(months), total: over.total, waiting: over.waiting, zone: over.zone ?? "the hub's zone", currency: months.currency ?? "" });
            },
            setWrong,
            true,
        );
    }, [last]);
    return { got, wrong };
}

/** @param {{ over: Mean[], period: string, width: number }} props */
function Over({ over, period, width }) {
    const labels = over.map((m) => dayLabel(m.label));
    const parts = PARTS.map(([name, words, colour]) => ({ name: words, colour, v: over.map((m) => Number(m[name])) })).filter((p) => p.v.some((v) => v > 0));
    const wide = Math.max(0, width - 72);
    return html`<section aria-label="Over weeks">
        <h2>GPUs on average, each ${period}</h2>
        <${Stack} title="GPUs on average each ${period}" unit="" labels=${labels} parts=${parts} width=${wide} write=${(/** @type {number} */ v) => `${figure(v, 1)} GPUs`} />
        <ul class="keys-of dim">${parts.map((p) => html`<li><i class="swatch" style=${{ background: `var(--${p.colour})` }} />${p.name}</li>`)}</ul>
        <h2>power on average, each ${period}</h2>
        <${Stack} title="power on average each ${period}" unit="kW" labels=${labels} parts=${[{ name: "all GPUs", colour: "line7", v: over.map((m) => m.power / 1000) }]} width=${wide} write=${(/** @type {number} */ v) => `${figure(v, 1)} kW`} />
    </section>`;
}

/** Weekdays and hours, as the reader's language writes them; 5 January 1970 was a Monday. */
const dayName = new Intl.DateTimeFormat(undefined, { weekday: "short", timeZone: "UTC" });

/** @param {{ hours: Mean[], of: string }} props */
function Week({ hours, of }) {
    const { of: value, write, short } = WEEK[of];
    const week = weekOf(hours, value);
    const most = Math.max(1e-9, ...week.flat().map((v) => v ?? 0));
    return html`<div class="scroll" tabindex="0" role="region" aria-label="A week, hour by hour"><table class="week">
        <thead><tr><td></td>${week[0].map((_, h) => html`<th scope="col">${h}</th>`)}</tr></thead>
        <tbody>${week.map((row, day) => html`<tr><th scope="row">${dayName.format(Date.UTC(1970, 0, 5 + day))}</th>
            ${row.map((v, h) => html`<td title=${v === undefined ? "not counted" : `${dayName.format(Date.UTC(1970, 0, 5 + day))} ${h}:00: ${write(v)}`} style=${{ background: v === undefined ? "none" : `color-mix(in srgb, var(--busy) ${Math.round((MOST_SHADE * v) / most)}%, var(--bg))` }}>${v === undefined ? UNKNOWN : short(v)}</td>`)}
        </tr>`)}</tbody>
    </table></div>`;
}

/** @param {string} label "2026-11" */
function monthBefore(label) {
    const [year, month] = label.split("-").map(Number);
    return new Date(Date.UTC(year, month - 2, 1)).toISOString().slice(0, 7);
}

/** A number with that of the month before. @param {{ m: Mean, before?: Mean, of: (m: Mean) => number, write: (v: number) => string }} props */
function Beside({ m, before, of, write }) {
    return html`<td class="num">${write(of(m))}</td><td class="num dim">${before ? write(of(before)) : UNKNOWN}</td>`;
}

/** @param {{ months: Mean[], currency: string }} props */
function Months({ months, currency }) {
    const rows = months.map((m) => ({ m, before: months.find((one) => one.label === monthBefore(m.label)) })).reverse();
    const held = (/** @type {Mean} */ m) => m.busy + m.idle;
    const priced = months.some((m) => m.cost !== undefined);
    /** @type {[string, (m: Mean) => number, (v: number) => string][]} */
    const columns = [
        ["GPUs held", held, (v) => figure(v, 1)],
        ["at work of them", (m) => (held(m) ? m.busy / held(m) : 0), percent],
        ["GPUs free", (m) => m.free, (v) => figure(v, 1)],
        ["power", (m) => m.power, power],
    ];
    return html`<section class="asking" aria-label="Months">
        <h2>calendar months, the month before beside each</h2>
        <div class="scroll" tabindex="0" role="region" aria-label="Calendar months"><table class="asked">
            <thead><tr><th scope="col">month</th>${columns.map(([words]) => html`<th scope="col" class="num">${words}</th><th scope="col" class="num">before</th>`)}
                <th scope="col" class="num">GPU-hours held</th><th scope="col" class="num">energy kWh</th>${priced && html`<th scope="col" class="num">cost ${currency}</th>`}</tr></thead>
            <tbody>${rows.map(({ m, before }, i) => html`<tr key=${m.label}><th scope="row">${m.label}${i === 0 && html` <span class="dim">so far</span>`}</th>
                ${columns.map(([, of, write]) => html`<${Beside} m=${m} before=${before} of=${of} write=${write} />`)}
                <td class="num">${figure(m.held / 3600, 0)}</td><td class="num">${figure(m.energy / 3.6e6, 0)}</td>${priced && html`<td class="num">${m.cost === undefined ? UNKNOWN : figure(m.cost, 2)}</td>`}</tr>`)}</tbody>
        </table></div>
    </section>`;
}

export default function TrendsView() {
    usePlace();
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    const width = useWidth(box);
    useEffect(() => watch({}), []);
    const last = chosen("last", LAST, "28d");
    const of = chosen("of", Object.entries(WEEK).map(([name, { words }]) => [name, words]), "work");
    const { got, wrong } = useTrends(last);
    const none = got && !got.over.length && !got.months.length;
    const { wall = 0, held = 0, busy = 0 } = got?.total ?? {};
    return html`<div class="usage trends" ref=${box}>
        <${Tabs} />
        <div class="lead"><h1>${wall ? `${percent(held / wall)} of all GPU time was held, ${percent(busy / wall)} at work` : "trends"}<span class="where"> in the last ${LAST.find(([v]) => v === (got?.last ?? last))?.[1]}</span></h1></div>
        <div class="strip"><span class="controls"><${Choice} name="last" label="last" options=${LAST} value=${last} otherwise="28d" /></span></div>
        ${wrong && html`<p class="error" role="alert">${wrong.detail}</p>`}
        ${!got && !wrong && html`<p class="dim">reading …</p>`}
        ${none && html`<${Empty} title="Nothing is counted yet"><p>The first numbers stand here a minute or two after the first node reports.</p><//>`}
        ${got && !none && html`<div class=${got.last === last ? "" : "stale-data"}>
            <${Over} over=${got.over} period=${got.period} width=${width} />
            <section class="asking" aria-label="A week">
                <h2>what a week is like</h2>
                <div class="controls"><${Choice} name="of" label="show" options=${Object.entries(WEEK).map(([name, { words }]) => [name, words])} value=${of} otherwise="work" />
                    <span class="dim">${UNITS[/** @type {keyof typeof UNITS} */ (of)]}, mean of 4 weeks</span></div>
                <${Week} hours=${got.hours} of=${of} />
            </section>
            <${Months} months=${got.months} currency=${got.currency} />
            <p class="dim">${got.waiting ? `${count(got.waiting, "hour")} of nodes are still being counted; ` : ""}days, hours and months of ${got.zone}</p>
        </div>`}
    </div>`;
}
