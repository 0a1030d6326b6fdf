/* usage.js: questions about what the hub has counted, by person, team, node and so on; the titles, units and digits of its columns. */
import { ask } from "../kit/api.js";
import { UNKNOWN } from "../kit/format.js";

/** @typedef {import("../kit/types").UsageRow} UsageRow */
/** @typedef {import("../kit/types").Usage} Usage */

/** @type {[string, string][]} */
export const BY = [["person", "person"], ["team", "team"], ["project", "project"], ["company", "company"], ["node", "node"], ["model", "model"], ["device", "GPU"], ["job", "job"]];
/** @type {[string, string][]} */
export const LAST = [["1d", "day"], ["7d", "7 days"], ["30d", "30 days"], ["90d", "90 days"], ["365d", "year"]];
/** @type {[string, string][]} */
export const PERIODS = [["hour", "hour"], ["day", "day"], ["week", "week"], ["month", "month"]];

/** Into what it is broken down when one asks for more. @type {Record<string, string>} */
export const INTO = { team: "person", project: "person", company: "person", person: "device", node: "device", model: "node", device: "person" };

/** A row's name where it has none. @type {Record<string, string>} */
const NOBODY = { person: "nobody known", team: "in no team", project: "in no project", company: "of no company", job: "outside of jobs" };

/** @param {string} by @param {string | null | undefined} key @param {string} [name] */
export const nameOf = (by, key, name) => (key === null || key === undefined || key === "" ? (name ? "held by nobody" : NOBODY[by] ?? "unknown") : name ?? key);

/** What tells rows apart: two have no key, nobody known and what GPUs used while nobody held them. @param {UsageRow} r */
export const rowId = (r) => r.key ?? `-${r.name ?? ""}`;

const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

/** The hub's label of a day as the reader writes it, "16 Nov"; of a week its number. @param {string} label */
export const dayLabel = (label) => (/^\d{4}-\d\d-\d\d$/.test(label) ? date.format(Date.parse(label)) : label.replace(/^\d{4}-/, ""));

const HOUR_S = 3600;

/**
 * Columns in their order. scale: how much of what the hub says is one of what is shown; digits: behind the point.
 * @type {{ name: keyof UsageRow, title: string, unit: string, scale: number, digits: number, help: string }[]}
 */
export const COLUMNS = [
    { name: "held", title: "held", unit: "h", scale: HOUR_S, digits: 1, help: "GPU-hours: a process or memory of theirs was on it; shared GPUs are split" },
    { name: "busy", title: "busy", unit: "h", scale: HOUR_S, digits: 1, help: "of these, it worked" },
    { name: "idle", title: "idle", unit: "h", scale: HOUR_S, digits: 1, help: "of these, it did nothing" },
    { name: "idle_long", title: "long idle", unit: "h", scale: HOUR_S, digits: 1, help: "of the idle ones, in spells of half an hour or more, or as the hub is told" },
    { name: "free", title: "free", unit: "h", scale: HOUR_S, digits: 1, help: "nobody was on it" },
    { name: "booked_unused", title: "booked, unused", unit: "h", scale: HOUR_S, digits: 1, help: "booked and nobody on it" },
    { name: "down", title: "down", unit: "h", scale: HOUR_S, digits: 1, help: "nothing was heard of it" },
    { name: "memory", title: "memory", unit: "GiB h", scale: 2 ** 30 * HOUR_S, digits: 0, help: "GiB held times hours" },
    { name: "energy", title: "energy", unit: "kWh", scale: 3.6e6, digits: 1, help: "as the GPUs measured it" },
    { name: "cost", title: "cost", unit: "", scale: 1, digits: 2, help: "hours held times the price of the model" },
    { name: "co2", title: "CO₂", unit: "kg", scale: 1000, digits: 1, help: "energy times what the hub is told a kWh does" },
];

/** A number as shown, after the scale. @param {number} v @param {number} digits */
export const figure = (v, digits) => v.toLocaleString(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** Those of which anything is known. @param {UsageRow[]} rows */
export const columnsOf = (rows) => COLUMNS.filter((c) => rows.some((r) => typeof r[c.name] === "number"));

/** @param {typeof COLUMNS[number]} column @param {UsageRow} row */
export function written(column, row) {
    const v = row[column.name];
    return typeof v === "number" ? figure(v / column.scale, column.digits) : UNKNOWN;
}

/** A part of the whole that the URL names: "person:kim". @param {string} text @returns {{ by: string, key: string } | null} */
export function partOf(text) {
    const at = text.indexOf(":");
    const by = text.slice(0, at);
    return at > 0 && BY.some(([name]) => name === by) ? { by, key: text.slice(at + 1) } : null;
}

/**
 * The question as the hub wants it; format: other than JSON.
 * @param {{ by: string, last: string, from?: string, to?: string, period: string, part?: { by: string, key: string } | null, format?: string }} q
 */
export function usageUrl({ by, last, from, to, period, part, format }) {
    const q = new URLSearchParams({ by, period });
    if (from && to) {
        q.set("from", from);
        q.set("to", to);
    } else {
        q.set("last", last);
    }
    if (part) q.set(part.by, part.key);
    if (format) q.set("format", format);
    return `/api/v1/usage?${q}`;
}

const AGAIN_MS = 60000;
const COUNTING_MS = 3000; /* while the hub still counts */

/** Asks all of it side by side, and again: soon while hours wait to be counted, else each minute, or not at all where it is to be whole alone. @param {string[]} urls @param {(got: Usage[]) => void} take @param {(e: import("../kit/types").Problem) => void} fail @param {boolean} [whole] @returns {() => void} stop */
export function askUsage(urls, take, fail, whole = false) {
    const stop = new AbortController();
    let timer = 0;
    async function look() {
        let counting = false;
        try {
            const got = await Promise.all(urls.map((url) => ask(url, { signal: stop.signal })));
            take(got);
            counting = got.some((one) => one.waiting);
            if (whole && !counting) return;
        } catch (e) {
            if (stop.signal.aborted) return;
            fail(/** @type {import("../kit/types").Problem} */ (e));
        }
        timer = window.setTimeout(look, counting ? COUNTING_MS : AGAIN_MS);
    }
    void look();
    return () => {
        clearTimeout(timer);
        stop.abort();
    };
}
