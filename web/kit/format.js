/* format.js: numbers, spans and times for people. The one place that knows how a unit is written. */
import { metrics } from "./facts.js";

/** What is not known. */
export const UNKNOWN = "–";

const NBSP = "\u00a0";

/** @param {number} v at most three figures, never more than one behind the point */
function short(v) {
    return Math.abs(v) < 100 && !Number.isInteger(v) ? v.toFixed(1) : v.toFixed(0);
}

/** @param {number} v @param {number} step @param {string[]} suffixes */
function scaled(v, step, suffixes) {
    let i = 0;
    while (Math.abs(v) >= step && i + 1 < suffixes.length) {
        v /= step;
        i++;
    }
    return (i ? short(v) : v.toFixed(0)) + NBSP + suffixes[i];
}

/** @param {number} v 0 to 1 */
export function percent(v) {
    return Math.round(v * 100) + NBSP + "%";
}

/** @param {number} v */
export function bytes(v) {
    return scaled(v, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

/** How each unit of the metric facts is written. @type {Record<string, (v: number) => string>} */
const writers = {
    ratio: percent,
    bytes,
    bytes_per_second: (v) => bytes(v) + "/s",
    celsius: (v) => v.toFixed(0) + NBSP + "°C",
    watts: (v) => (v >= 10000 ? short(v / 1000) + NBSP + "kW" : v.toFixed(0) + NBSP + "W"),
    joules: (v) => (v >= 3.6e6 ? short(v / 3.6e6) + NBSP + "kWh" : scaled(v, 1000, ["J", "kJ", "MJ"])),
    hertz: (v) => scaled(v, 1000, ["Hz", "kHz", "MHz", "GHz"]),
    seconds: (v) => span(v * 1000),
    mask: (v) => "0x" + v.toString(16),
};

/** Of many GPUs: "750 W", "14.5 kW" @param {number} watts */
export function power(watts) {
    const [v, unit] = watts < 1000 ? [watts, "W"] : watts < 1e6 ? [watts / 1000, "kW"] : [watts / 1e6, "MW"];
    return v.toFixed(v < 100 && unit !== "W" ? 1 : 0) + NBSP + unit;
}

/** @param {string} unit as in the metric facts @param {number | undefined} v in the base unit */
export function amount(unit, v) {
    if (v === undefined || v === null || Number.isNaN(v)) return UNKNOWN;
    return writers[unit]?.(v) ?? short(v);
}

/** A metric's value by its name. @param {string} name @param {number | undefined} v */
export function metric(name, v) {
    return amount(metrics.get(name)?.unit ?? "", v);
}

const UNITS = /** @type {const} */ ([["d", 86400000], ["h", 3600000], ["m", 60000], ["s", 1000]]);

/** "2 h 10 m": two units at most. @param {number} ms */
export function span(ms) {
    const u = Math.max(0, Math.floor(ms / 1000) * 1000);
    const i = UNITS.findIndex(([, size]) => u >= size);
    if (i < 0) return "0" + NBSP + "s";
    const [name, size] = UNITS[i];
    const next = UNITS[i + 1];
    const rest = next ? Math.floor((u % size) / next[1]) : 0;
    return Math.floor(u / size) + NBSP + name + (next && rest ? NBSP + rest + NBSP + next[0] : "");
}

/** One unit, for narrow places. @param {number} ms */
export function spanShort(ms) {
    const u = Math.max(0, ms);
    const [name, size] = UNITS.find(([, s]) => u >= s) ?? UNITS[3];
    return Math.floor(u / size) + NBSP + name;
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** The reader's own zone and way of writing; the day only when it is not today. @param {number} ms */
export function time(ms) {
    const d = new Date(ms);
    return d.toDateString() === new Date().toDateString() ? clock.format(d) : whole.format(d);
}

/** With its day, for hovers. @param {number} ms */
export function exactTime(ms) {
    return whole.format(new Date(ms));
}

const minute = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dated = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const DAY_MS = 86400000;

/** To the minute, as short as it is clear, as the reader writes it: "14:00", "Tue 14:00", "24 Nov 14:00", of another year "1 Jan 2027 14:00". @param {number} ms @param {number} now */
export function moment(ms, now) {
    const d = new Date(ms);
    const today = new Date(now);
    const at = minute.format(d);
    if (d.toDateString() === today.toDateString()) return at;
    const day = d.getFullYear() !== today.getFullYear() ? dated : Math.abs(ms - now) < 6 * DAY_MS ? weekday : date;
    return `${day.format(d)}${NBSP}${at}`;
}

/** "1 GPU", "2 GPUs" @param {number} n @param {string} noun */
export function count(n, noun) {
    return n + NBSP + noun + (n === 1 ? "" : "s");
}
