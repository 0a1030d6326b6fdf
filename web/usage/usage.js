/* usage.js: questions about what the hub has counted, by person, team, node and so on; the titles, units and digits of its columns. */
import { ask } from "../kit/api.js";
import { COMMA, energy, inUnit, moment, number, UNKNOWN } from "../kit/format.js";
import { dates } from "../kit/language.js";
import { hubNow } from "../kit/live.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").UsageRow} UsageRow */
/** @typedef {import("../kit/types").Usage} Usage */

/** @type {[string, string][]} */
export const BY = [["person", say.person], ["team", say.team], ["project", say.project], ["company", say.company], ["node", say.node], ["model", say.model], ["device", "GPU"], ["job", say.job]];
/** @type {[string, string][]} */
export const LAST = [["1d", say.oneDay], ["7d", say.days(7)], ["30d", say.days(30)], ["90d", say.days(90)], ["365d", say.oneYear]];
/** @type {[string, string][]} */
export const PERIODS = [["hour", say.hour], ["day", say.day], ["week", say.week], ["month", say.month]];

/** "GPU", "day": what one of these words of the URL is called. @param {string} word */
export const nounOf = (word) => [...BY, ...PERIODS].find(([v]) => v === word)?.[1] ?? word;

/** Into what it is broken down when one asks for more. @type {Record<string, string>} */
export const INTO = { team: "person", project: "person", company: "person", person: "device", node: "device", model: "node", device: "person" };

/** A row's name where it has none. @type {Record<string, string>} */
const NOBODY = { person: say.nobodyKnown, team: say.inNoTeam, project: say.inNoProject, company: say.ofNoCompany, job: say.outsideJobs };

/** @param {string} by @param {string | null | undefined} key @param {string} [name] */
export const nameOf = (by, key, name) => (key === null || key === undefined || key === "" ? (name ? say.heldByNobody : NOBODY[by] ?? say.unknown) : name ?? key);

/** What tells rows apart: two have no key, nobody known and what GPUs used while nobody held them. @param {UsageRow} r */
export const rowId = (r) => r.key ?? `-${r.name ?? ""}`;

const date = dates({ day: "numeric", month: "short", timeZone: "UTC" });

/** The hub's label of a day as the reader writes it, "16 Nov"; of a week its number. @param {string} label */
export const dayLabel = (label) => (/^\d{4}-\d\d-\d\d$/.test(label) ? date.format(Date.parse(label)) : label.replace(/^\d{4}-/, ""));

const HOUR_S = 3600;
const LATELY_MS = 3600000;

/** ", records since 12 Nov 13:00" where they are shorter than the time asked for. @param {Usage | undefined} u */
export const sinceWhen = (u) => (u?.records_from && u.records_from > u.from ? COMMA + say.recordsSince(moment(u.records_from, hubNow())) : "");

/** Which periods have records of some of their time only: the first ones, and the one that is not over. @param {Usage} u @param {number[]} moments their beginnings, in order */
export const partlyKnown = (u, moments) => moments.map((at, i) => (u.records_from ?? 0) > at || (i === moments.length - 1 && u.to > hubNow() - LATELY_MS));

/**
 * Columns in their order. scale: how much of what the hub says is one of what is shown; digits: behind the point; of: how much of held was measured.
 * @type {{ name: keyof UsageRow, title: string, unit: string, scale: number, digits: number, help: string, of?: keyof UsageRow }[]}
 */
export const COLUMNS = [
    { name: "held", title: say.held, unit: "h", scale: HOUR_S, digits: 1, help: say.heldMeans },
    { name: "busy", title: say.busy, unit: "h", scale: HOUR_S, digits: 1, help: say.busyMeans },
    { name: "effective", title: say.effective, unit: "h", scale: HOUR_S, digits: 1, help: say.effectiveMeans, of: "effective_measured" },
    { name: "tensor", title: say.tensor, unit: "h", scale: HOUR_S, digits: 1, help: say.tensorMeans, of: "tensor_measured" },
    { name: "idle", title: say.idle, unit: "h", scale: HOUR_S, digits: 1, help: say.idleMeans },
    { name: "idle_long", title: say.longIdle, unit: "h", scale: HOUR_S, digits: 1, help: say.longIdleMeans },
    { name: "free", title: say.free, unit: "h", scale: HOUR_S, digits: 1, help: say.freeMeans },
    { name: "booked_unused", title: say.bookedUnused, unit: "h", scale: HOUR_S, digits: 1, help: say.bookedUnusedMeans },
    { name: "down", title: say.down, unit: "h", scale: HOUR_S, digits: 1, help: say.downMeans },
    { name: "memory", title: say.memory, unit: "GiB h", scale: 2 ** 30 * HOUR_S, digits: 0, help: say.memoryMeans },
    { name: "energy", title: say.energy, unit: "kWh", scale: 3.6e6, digits: 1, help: say.energyMeans },
    { name: "energy_per_effective_hour", title: say.perEffective, unit: "kWh", scale: 3.6e6, digits: 2, help: say.perEffectiveMeans },
    { name: "cost", title: say.cost, unit: "", scale: 1, digits: 2, help: say.costMeans },
    { name: "co2", title: "CO₂", unit: "kg", scale: 1000, digits: 1, help: say.co2Means },
];

/** A number as shown, after the scale. @param {number} v @param {number} digits */
export const figure = (v, digits) => number(v, digits);

/** Those of which anything is known. @param {UsageRow[]} rows */
export const columnsOf = (rows) => COLUMNS.filter((c) => rows.some((r) => typeof r[c.name] === "number"));

const NEARLY_S = 180; /* less than what is shown of an hour */

/** Less than one of the column's unit, in a smaller one: "34 m", "83 Wh"; else null. @param {typeof COLUMNS[number]} column @param {number} v as the hub has it */
function small(column, v) {
    if (v <= 0 || v >= column.scale) return null;
    if (column.name === "energy") return energy(v);
    return column.unit === "h" ? `${v < 60 ? "< " : ""}${inUnit(Math.max(1, Math.floor(v / 60)), 2)}` : null;
}

/** Under the head of a column, which has the unit: "12.4", "34 m"; "12.4 of 20.0", "34 m of 1.5 h" where the rest of what was held is not known. @param {typeof COLUMNS[number]} column @param {UsageRow} row */
export function written(column, row) {
    const v = row[column.name];
    if (typeof v !== "number") return UNKNOWN;
    const text = (/** @type {number} */ n) => small(column, n) ?? figure(n / column.scale, column.digits);
    const of = column.of ? Number(row[column.of]) : row.held;
    return Number(row.held) - Number(of) >= NEARLY_S ? say.ofMeasured(text(v), small(column, v) ? inWords(column, Number(of)) : text(Number(of))) : text(v);
}

/** What stands behind a number that is not under the head of its column. @param {typeof COLUMNS[number]} column @param {number} v as the hub has it @param {string} [currency] */
export const unitOf = (column, v, currency = "") => (small(column, v) ? "" : column.name === "cost" ? currency : column.unit);

/** "12.4 h", "34 m". @param {typeof COLUMNS[number]} column @param {number} v as the hub has it @param {string} [currency] */
export const inWords = (column, v, currency) => `${small(column, v) ?? figure(v / column.scale, column.digits)} ${unitOf(column, v, currency)}`.trim();

/** What was done of the time that was measured; undefined: none was. @param {UsageRow} row */
export const workOf = (row) => (row.effective_measured && row.effective !== undefined ? row.effective / row.effective_measured : undefined);

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
