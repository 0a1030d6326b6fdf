/* format.js: numbers, spans and times for people. The one place that knows how a unit is written. */
import { metrics } from "./facts.js";
import { locale } from "./language.js";
import { say } from "./words.en.js";

/** What is not known. */
export const UNKNOWN = "–";

/** Between parts of a sentence. */
export const COMMA = say.comma;

export const NBSP = "\u00a0";

const fixed = [0, 1, 2].map((digits) => new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits }));

/** As the reader writes it. @param {number} v @param {number} [digits] behind the point */
export const number = (v, digits = 0) => fixed[digits].format(v);

/** @param {number} v at most three figures, never more than one behind the point */
function short(v) {
    return number(v, Math.abs(v) < 100 && !Number.isInteger(v) ? 1 : 0);
}

/** @param {number} v @param {number} step @param {string[]} suffixes */
function scaled(v, step, suffixes) {
    let i = 0;
    while (Math.abs(v) >= step && i + 1 < suffixes.length) {
        v /= step;
        i++;
    }
    return (i ? short(v) : number(v)) + NBSP + suffixes[i];
}

/** @param {number} v 0 to 1 */
export function percent(v) {
    return Math.round(v * 100) + NBSP + "%";
}

/** @param {number} v */
export function bytes(v) {
    return scaled(v, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

/** "9.8 kWh", "83 Wh", "4.2 Wh", as the hub writes it. @param {number} joules */
export function energy(joules) {
    const wh = joules / 3600;
    return wh >= 999.5 ? number(wh / 1000, wh >= 99950 ? 0 : 1) + NBSP + "kWh" : (wh >= 10 ? number(wh) : String(Number(wh.toPrecision(2)))) + NBSP + "Wh";
}

/** How each unit of the metric facts is written. @type {Record<string, (v: number) => string>} */
const writers = {
    ratio: percent,
    bytes,
    bytes_per_second: (v) => bytes(v) + "/s",
    celsius: (v) => number(v) + NBSP + "°C",
    watts: (v) => (v >= 10000 ? short(v / 1000) + NBSP + "kW" : number(v) + NBSP + "W"),
    joules: energy,
    hertz: (v) => scaled(v, 1000, ["Hz", "kHz", "MHz", "GHz"]),
    seconds: (v) => span(v * 1000),
    mask: (v) => "0x" + v.toString(16),
    teraflops: (v) => number(v, v < 10 ? 1 : 0) + NBSP + "TFLOP/s",
};

/** Of many GPUs: "750 W", "14.5 kW" @param {number} watts */
export function power(watts) {
    const [v, unit] = watts < 1000 ? [watts, "W"] : watts < 1e6 ? [watts / 1000, "kW"] : [watts / 1e6, "MW"];
    return number(v, v < 100 && unit !== "W" ? 1 : 0) + NBSP + unit;
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

export const inUnit = say.unit; /* so many days (0), hours, minutes, seconds (3) */
const UNITS = [86400000, 3600000, 60000, 1000];

/** "2 h 10 m": two units at most. @param {number} ms */
export function span(ms) {
    const u = Math.max(0, Math.floor(ms / 1000) * 1000);
    const i = UNITS.findIndex((size) => u >= size);
    if (i < 0) return say.unit(0, 3);
    const rest = Math.floor((u % UNITS[i]) / UNITS[i + 1]);
    return say.unit(Math.floor(u / UNITS[i]), i) + (rest ? say.gap + say.unit(rest, i + 1) : "");
}

/** One unit, for narrow places. @param {number} ms */
export function spanShort(ms) {
    const u = Math.max(0, ms);
    const i = Math.max(0, u < 1000 ? 3 : UNITS.findIndex((size) => u >= size));
    return say.unit(Math.floor(u / UNITS[i]), i);
}

const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
const dayOf = (/** @type {Date} */ d) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
const minuteOf = (/** @type {Date} */ d) => `${two(d.getHours())}:${two(d.getMinutes())}`;

/** The time of day: "07:19". @param {number} ms */
export const minute = (ms) => minuteOf(new Date(ms));

/** A moment, as every screen has it: "2026-11-19 07:19", in the reader's zone; of today "07:19". @param {number} ms @param {number} now */
export function moment(ms, now) {
    const d = new Date(ms);
    const day = dayOf(d);
    return day === dayOf(new Date(now)) ? minuteOf(d) : day + NBSP + minuteOf(d);
}

/** The same to the second. @param {number} ms */
export function time(ms) {
    return `${moment(ms, Date.now())}:${two(new Date(ms).getSeconds())}`;
}

/** With its day, for hovers. @param {number} ms */
export function exactTime(ms) {
    const d = new Date(ms);
    return `${dayOf(d)}${NBSP}${minuteOf(d)}:${two(d.getSeconds())}`;
}

/** In English: "1 GPU", "2 GPUs" @param {number} n @param {string} noun */
export function count(n, noun) {
    return n + NBSP + noun + (n === 1 ? "" : "s");
}
