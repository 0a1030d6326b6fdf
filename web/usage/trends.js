/* trends.js: sums of the whole cluster over time, out of the rows that the hub counts per model. */
import { locale } from "../kit/language.js";
import { partlyKnown } from "./usage.js";

/** @typedef {import("../kit/types").Usage} Usage */

/** What all GPUs did at a moment's period, on average: numbers of GPUs, and watts. @typedef {{ at: number, label: string, partial: boolean, busy: number, idle: number, free: number, unused: number, down: number, power: number, held: number, energy: number, cost: number | undefined, effective: number | undefined, effectiveTime: number, measured: number, tensor: number | undefined, tensorTime: number, tensorMeasured: number }} Mean; effective and tensor are undefined where nothing was measured, their times and of how much in seconds */

const HOUR_MS = 3600000;
/** In hours, with that of clocks that are set back: where nothing is counted of the next one. @type {Record<string, number>} */
const LONGEST = { hour: 1, day: 25, week: 169, month: 745 };
const LAG_MS = 600000; /* counting is behind by less, unless it is of late data */

/** When each period ended, or up to when it is counted. @param {Usage} usage @param {number[]} moments their beginnings, in order */
function endsOf({ period, to, counted_to: counted }, moments) {
    const soFar = counted && to - counted < LAG_MS ? counted : to;
    return new Map(moments.map((at, i) => [at, Math.min(moments[i + 1] ?? Infinity, soFar > at ? soFar : to, at + LONGEST[period] * HOUR_MS)]));
}

/** Rows of one moment are of several models, whose GPUs may have come or gone meanwhile: their seconds are divided by those of the period that have passed since records began. @param {Usage} usage @returns {Mean[]} by time */
export function meansOf(usage) {
    const rows = usage.rows.filter((r) => r.wall).sort((a, b) => a.at - b.at);
    const moments = [...new Set(rows.map((r) => r.at))];
    const ends = endsOf(usage, moments);
    const partial = new Map(partlyKnown(usage, moments).map((is, i) => [moments[i], is]));
    /** @type {Map<number, Mean>} */
    const by = new Map();
    for (const r of rows) {
        const begin = Math.max(r.at, usage.records_from ?? 0); /* a mean is of the time with records */
        const seconds = (Number(ends.get(r.at)) - begin) / 1000;
        const m = by.get(r.at) ?? { at: r.at, label: r.label ?? "", partial: Boolean(partial.get(r.at)), busy: 0, idle: 0, free: 0, unused: 0, down: 0, power: 0, held: 0, energy: 0, cost: undefined, effective: undefined, effectiveTime: 0, measured: 0, tensor: undefined, tensorTime: 0, tensorMeasured: 0 };
        m.busy += (r.busy ?? 0) / seconds;
        m.idle += (r.idle ?? 0) / seconds;
        m.free += (r.free ?? 0) / seconds;
        m.unused += (r.booked_unused ?? 0) / seconds;
        m.down += (r.down ?? 0) / seconds;
        m.power += (r.energy ?? 0) / seconds;
        m.held += r.held ?? 0;
        m.energy += r.energy ?? 0;
        if (r.cost !== undefined) m.cost = (m.cost ?? 0) + r.cost;
        if (r.effective !== undefined && r.effective_measured) {
            m.effective = (m.effective ?? 0) + r.effective / seconds;
            m.effectiveTime += r.effective;
            m.measured += r.effective_measured;
        }
        if (r.tensor !== undefined && r.tensor_measured) {
            m.tensor = (m.tensor ?? 0) + r.tensor / seconds;
            m.tensorTime += r.tensor;
            m.tensorMeasured += r.tensor_measured;
        }
        by.set(r.at, m);
    }
    return [...by.values()];
}

/** @param {Mean} m */
export const allOf = (m) => m.busy + m.idle + m.free + m.unused + m.down;

/** What a week is like: for each weekday, Sunday first, and hour the mean of a number; undefined where there is none. Labels are "2026-11-15 14:00". @param {Mean[]} hours @param {(m: Mean) => number | undefined} of @returns {(number | undefined)[][]} */
export function weekOf(hours, of) {
    const sums = Array.from({ length: 7 }, () => Array.from({ length: 24 }, () => ({ n: 0, sum: 0 })));
    for (const m of hours) {
        const [day, hour] = m.label.split(/[ T]/);
        const at = sums[new Date(`${day}T00:00Z`).getUTCDay()]?.[Number.parseInt(hour)];
        const v = of(m);
        if (!at || v === undefined) continue;
        at.n++;
        at.sum += v;
    }
    return sums.map((row) => row.map(({ n, sum }) => (n ? sum / n : undefined)));
}

/** Where a week begins, 7 is Sunday; Monday where the browser does not tell. */
function firstDay() {
    const reader = /** @type {any} */ (new Intl.Locale(locale ?? navigator.language));
    return (reader.getWeekInfo?.() ?? reader.weekInfo)?.firstDay ?? 1;
}

/** The days of a week in the reader's order; 0 is Sunday. */
export const weekdays = [0, 1, 2, 3, 4, 5, 6].map((i) => (firstDay() + i) % 7);
