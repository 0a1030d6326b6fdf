/* view_trends.js: the view /trends: what all GPUs did over weeks, what a week is like hour by hour, and calendar months with the month before. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Choice, chosen } from "../kit/choice.js";
import { Empty } from "../kit/empty.js";
import { COMMA, moment, percent, power, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { dates } from "../kit/language.js";
import { hubNow, watch } from "../kit/live.js";
import { usePlace } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { useWidth } from "../kit/use.js";
import { Stack } from "./stack.js";
import { Tabs } from "./tabs.js";
import { allOf, meansOf, weekdays, weekOf } from "./trends.js";
import { askUsage, dayLabel, figure, nounOf, sinceWhen, usageUrl } from "./usage.js";
import { say } from "./words.en.js";

/** @typedef {import("./trends.js").Mean} Mean */
/** @typedef {import("../kit/types").Problem} Problem */
/** @typedef {import("../kit/types").UsageRow} UsageRow */

await sheet("later.css");

/** @type {[string, string][]} */
const LAST = [["28d", say.weeks(4)], ["91d", say.weeks(13)], ["365d", say.oneYear]];
const WEEKS = "28d"; /* what a week is like is made of these */
const MONTHS = 12;
/** @type {[keyof Mean, string, string][]} */
const PARTS = [["busy", say.busy, "busy"], ["idle", say.heldIdle, "held"], ["unused", say.bookedNobody, "line4"], ["free", say.free, "free"], ["down", say.notHeard, "stale"]];
/** What the week shows. @type {Record<string, { words: string, of: (m: Mean) => number | undefined, write: (v: number) => string, short: (v: number) => string }>} */
const WEEK = {
    work: { words: say.busy, of: (m) => m.busy / allOf(m), write: (v) => say.allBusy(percent(v)), short: (v) => `${Math.round(v * 100)}` },
    effective: { words: say.effective, of: (m) => (m.effective === undefined ? undefined : m.effective / allOf(m)), write: (v) => say.allEffective(percent(v)), short: (v) => `${Math.round(v * 100)}` },
    tensor: { words: say.tensor, of: (m) => (m.tensor === undefined ? undefined : m.tensor / allOf(m)), write: (v) => say.allTensor(percent(v)), short: (v) => `${Math.round(v * 100)}` },
    held: { words: say.held, of: (m) => (m.busy + m.idle) / allOf(m), write: (v) => say.allHeld(percent(v)), short: (v) => `${Math.round(v * 100)}` },
    free: { words: say.free, of: (m) => m.free, write: (v) => say.gpusAreFree(figure(v, 1)), short: (v) => figure(v, v < 10 ? 1 : 0) },
    power: { words: say.power, of: (m) => m.power, write: (v) => power(v), short: (v) => figure(v / 1000, v < 10000 ? 1 : 0) },
};
const UNITS = { work: say.percentOfAll, effective: say.percentOfAll, tensor: say.percentOfAll, held: say.percentOfAll, free: say.gpus, power: "kW" };
const MOST_SHADE = 50; /* percent of colour: more would hide the numbers */

/** The first of the month, so many months ago. @param {number} months */
function firstOf(months) {
    const d = new Date(hubNow());
    return new Date(Date.UTC(d.getUTCFullYear(), d.getUTCMonth() - months, 1)).toISOString().slice(0, 10);
}

/** @param {string} last */
function useTrends(last) {
    const [got, setGot] = useState(/** @type {{ last: string, period: string, over: Mean[], hours: Mean[], months: Mean[], all?: import("../kit/types").Usage, recorded?: number | null, total?: UsageRow, waiting?: number, zone: string, currency: string } | null} */ (null));
    const [wrong, setWrong] = useState(/** @type {Problem | null} */ (null));
    useEffect(() => {
        const period = last === "365d" ? "week" : "day";
        const question = (/** @type {string} */ of, /** @type {string} */ per) => usageUrl({ by: "model", last: of, period: per });
        return askUsage(
            [question(last, period), question(WEEKS, "hour"), `/api/v1/usage?by=model&period=month&from=${firstOf(MONTHS)}`],
            ([over, hours, months]) => {
                setWrong(null);
                setGot({ last, period, over: meansOf(over), hours: meansOf(hours), months: meansOf(months), all: over, recorded: hours.records_from && hours.records_from > hours.from ? hours.records_from : null, total: over.total, waiting: over.waiting, zone: over.zone ?? say.hubsZone, currency: months.currency ?? "" });
            },
            setWrong,
            true,
        );
    }, [last]);
    return { got, wrong };
}

/** Hours times work or the like, of those that were measured. @param {Mean} m @param {number} seconds @param {number} measured */
const hoursOf = (m, seconds, measured) => (!measured ? UNKNOWN : m.held - measured >= 180 ? say.ofHours(figure(seconds / 3600, 0), figure(measured / 3600, 0)) : figure(seconds / 3600, 0));

/** @param {{ over: Mean[], period: string, width: number }} props */
function Over({ over, period, width }) {
    const labels = over.map((m) => dayLabel(m.label));
    const parts = PARTS.map(([name, words, colour]) => ({ name: words, colour, v: over.map((m) => Number(m[name])) })).filter((p) => p.v.some((v) => v > 0));
    const wide = Math.max(0, width - 72);
    const partial = over.map((m) => m.partial);
    /** What GPUs did in those hours, one beside the other: neither says it alone. @type {[string, string, string, string, (m: Mean) => number | undefined][]} */
    const did = [
        [say.effectiveEach(nounOf(period)), say.effectiveMeans, say.effective, "line5", (m) => m.effective],
        [say.tensorEach(nounOf(period)), say.tensorMeans, say.tensor, "line6", (m) => m.tensor],
    ];
    return html`<section aria-label=${say.overWeeksLabel}>
        <h2>${say.gpusEach(nounOf(period))}</h2>
        <${Stack} title=${say.gpusEach(nounOf(period))} unit="" labels=${labels} partial=${partial} parts=${parts} width=${wide} write=${(/** @type {number} */ v) => say.someGpus(figure(v, 1))} />
        <ul class="keys-of dim">${parts.map((p) => html`<li><i class="swatch" style=${{ background: `var(--${p.colour})` }} />${p.name}</li>`)}</ul>
        ${did.filter(([, , , , of]) => over.some((m) => of(m) !== undefined)).map(([title, means, name, colour, of]) => html`<h2 title=${means}>${title}</h2>
        <${Stack} title=${title} unit="" labels=${labels} partial=${partial} parts=${[{ name, colour, v: over.map((m) => of(m) ?? 0) }]} width=${wide} write=${(/** @type {number} */ v) => say.someGpus(figure(v, 1))} />`)}
        <h2>${say.powerEach(nounOf(period))}</h2>
        <${Stack} title=${say.powerEach(nounOf(period))} unit="kW" labels=${labels} partial=${partial} parts=${[{ name: say.allGpus, colour: "line7", v: over.map((m) => m.power / 1000) }]} width=${wide} write=${(/** @type {number} */ v) => `${figure(v, 1)} kW`} />
    </section>`;
}

/** Weekdays, as the reader's language writes them; 4 January 1970 was a Sunday. */
const weekday = dates({ weekday: "short", timeZone: "UTC" });
const dayName = (/** @type {number} */ day) => weekday.format(Date.UTC(1970, 0, 4 + day));

/** @param {{ hours: Mean[], of: string }} props */
function Week({ hours, of }) {
    const { of: value, write, short } = WEEK[of];
    const week = weekOf(hours, value);
    const most = Math.max(1e-9, ...week.flat().map((v) => v ?? 0));
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${say.weekTable}><table class="week">
        <thead><tr><td></td>${week[0].map((_, h) => html`<th scope="col">${h}</th>`)}</tr></thead>
        <tbody>${weekdays.map((day) => html`<tr><th scope="row">${dayName(day)}</th>
            ${week[day].map((v, h) => html`<td title=${v === undefined ? say.notCounted : `${dayName(day)} ${h}:00: ${write(v)}`} style=${{ background: v === undefined ? "none" : `color-mix(in srgb, var(--busy) ${Math.round((MOST_SHADE * v) / most)}%, var(--bg))` }}>${v === undefined ? UNKNOWN : short(v)}</td>`)}
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

/** recorded: when records begin. @param {{ months: Mean[], currency: string, recorded?: number | null }} props */
function Months({ months, currency, recorded }) {
    const rows = months.map((m) => ({ m, before: months.find((one) => one.label === monthBefore(m.label)) })).reverse();
    const held = (/** @type {Mean} */ m) => m.busy + m.idle;
    const priced = months.some((m) => m.cost !== undefined);
    const measured = months.some((m) => m.effective !== undefined);
    const tensor = months.some((m) => m.tensor !== undefined);
    /** @type {[string, (m: Mean) => number, (v: number) => string][]} */
    const columns = [
        [say.gpusHeld, held, (v) => figure(v, 1)],
        [say.busyOfThem, (m) => (held(m) ? m.busy / held(m) : 0), percent],
        [say.gpusFree, (m) => m.free, (v) => figure(v, 1)],
        [say.power, (m) => m.power, power],
    ];
    return html`<section class="asking" aria-label=${say.months}>
        <h2>${say.monthsBeside}</h2>
        <div class="scroll" tabindex="0" role="region" aria-label=${say.calendarMonths}><table class="asked">
            <thead><tr><th scope="col">${say.month}</th>${columns.map(([words]) => html`<th scope="col" class="num">${words}</th><th scope="col" class="num">${say.before}</th>`)}
                <th scope="col" class="num">${say.gpuHours}</th>${measured && html`<th scope="col" class="num" title=${say.effectiveMeans}>${say.effective} h</th>`}${tensor && html`<th scope="col" class="num" title=${say.tensorMeans}>${say.tensor} h</th>`}<th scope="col" class="num">${say.energy} kWh</th>${priced && html`<th scope="col" class="num">${say.cost} ${currency}</th>`}</tr></thead>
            <tbody>${rows.map(({ m, before }, i) => html`<tr key=${m.label}><th scope="row">${m.label}${i === 0 && html` <span class="dim">${say.soFar}</span>`}${recorded && recorded > m.at && html` <span class="dim">${say.recordsSince(moment(recorded, hubNow()))}</span>`}</th>
                ${columns.map(([, of, write]) => html`<${Beside} m=${m} before=${before} of=${of} write=${write} />`)}
                <td class="num">${figure(m.held / 3600, 0)}</td>${measured && html`<td class="num">${hoursOf(m, m.effectiveTime, m.measured)}</td>`}${tensor && html`<td class="num">${hoursOf(m, m.tensorTime, m.tensorMeasured)}</td>`}<td class="num">${figure(m.energy / 3.6e6, 0)}</td>${priced && html`<td class="num">${m.cost === undefined ? UNKNOWN : figure(m.cost, 2)}</td>`}</tr>`)}</tbody>
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
        <div class="lead"><h1>${wall ? say.timeHeld(percent(held / wall), percent(busy / wall)) : say.trends}<span class="where"> ${say.inLast(LAST.find(([v]) => v === (got?.last ?? last))?.[1])}${sinceWhen(got?.all)}</span></h1></div>
        <div class="strip"><span class="controls"><${Choice} name="last" label=${say.last} options=${LAST} value=${last} otherwise="28d" /></span></div>
        ${wrong && html`<p class="error" role="alert">${wrong.detail}</p>`}
        ${!got && !wrong && html`<p class="dim">${say.reading}</p>`}
        ${none && html`<${Empty} title=${say.nothingYet}><p>${say.firstNumbers}</p><//>`}
        ${got && !none && html`<div class=${got.last === last ? "" : "stale-data"}>
            <${Over} over=${got.over} period=${got.period} width=${width} />
            <section class="asking" aria-label=${say.aWeek}>
                <h2>${say.weekIsLike}</h2>
                <div class="controls"><${Choice} name="of" label=${say.show} options=${Object.entries(WEEK).map(([name, { words }]) => [name, words])} value=${of} otherwise="work" />
                    <span class="dim">${UNITS[/** @type {keyof typeof UNITS} */ (of)]}${COMMA}${got.recorded ? say.meanSince(moment(got.recorded, hubNow())) : say.meanOf4}</span></div>
                <${Week} hours=${got.hours} of=${of} />
            </section>
            <${Months} months=${got.months} currency=${got.currency} recorded=${got.all?.records_from} />
            <p class="dim">${got.waiting ? say.stillCounted(got.waiting) : ""}${say.allOfZone(got.zone)}</p>
        </div>`}
    </div>`;
}
