/* calendar.js: days of the reader's zone as stretches of time: where they begin, which words stand over them. A day may have
 * 23 or 25 hours. */
import { dates } from "../kit/language.js";
import { say } from "./words.en.js";

/** @type {[string, string][]} */
export const SHOWN = [["1", say.day], ["7", say.week], ["14", say.twoWeeks]];

const MINUTE_MS = 60000;
/** What dragging snaps to, by days shown. @type {Record<string, number>} */
const STEPS = { 1: 15 * MINUTE_MS, 7: 60 * MINUTE_MS, 14: 120 * MINUTE_MS };

/* as the reader writes them */
const weekday = dates({ weekday: "short", day: "numeric" });
const number = dates({ day: "numeric" });
const clock = dates({ timeStyle: "short" });
const long = dates({ weekday: "long", day: "numeric", month: "long" });
const short = dates({ day: "numeric", month: "short" });

/** Midnight so many days after the one of ms. @param {number} ms @param {number} [days] */
export function midnight(ms, days = 0) {
    const d = new Date(ms);
    return new Date(d.getFullYear(), d.getMonth(), d.getDate() + days).getTime();
}

/** "2026-11-15", as the URL has it @param {number} ms */
export function dayText(ms) {
    const d = new Date(ms);
    return `${d.getFullYear()}-${`${d.getMonth() + 1}`.padStart(2, "0")}-${`${d.getDate()}`.padStart(2, "0")}`;
}

/** The days the URL names; today on unless it says. @param {URLSearchParams} query @param {string} days @param {number} now */
export function daysShown(query, days, now) {
    const m = /^(\d{4})-(\d\d)-(\d\d)$/.exec(query.get("from") ?? "");
    const asked = m ? new Date(Number(m[1]), Number(m[2]) - 1, Number(m[3])).getTime() : NaN;
    const from = Number.isFinite(asked) ? asked : midnight(now);
    return { from, to: midnight(from, Number(days)), step: STEPS[days], today: from === midnight(now) };
}

/** Lines across the time, and the words at some. @param {number} from @param {number} to @param {string} days @param {boolean} narrow @returns {{ at: number, words: string, day: boolean }[]} */
export function ticks(from, to, days, narrow) {
    const all = [];
    if (days === "1") {
        const every = narrow ? 6 : 2;
        for (let h = 0; ; h += every) {
            const d = new Date(from);
            d.setHours(h);
            if (d.getTime() >= to) return all;
            all.push({ at: d.getTime(), words: clock.format(d), day: h % 24 === 0 });
        }
    }
    for (let at = from, i = 0; at < to; at = midnight(at, 1), i++) {
        const some = !narrow || days === "7" || i % 2 === 0;
        all.push({ at, words: some ? (narrow ? number : weekday).format(new Date(at)) : "", day: true });
    }
    return all;
}

/** "Sunday 15 November", "15–21 Nov" @param {number} from @param {number} to */
export function title(from, to) {
    const last = to - 1;
    return midnight(from) === midnight(last) ? long.format(new Date(from)) : short.formatRange(new Date(from), new Date(last));
}

/** @param {number} t @param {number} base @param {number} step */
export const snap = (t, base, step) => base + Math.round((t - base) / step) * step;
/** @param {number} t @param {number} base @param {number} step */
export const snapDown = (t, base, step) => base + Math.floor((t - base) / step) * step;
