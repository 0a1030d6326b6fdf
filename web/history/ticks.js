/* ticks.js: round moments of the reader's day along a stretch of time, and the words at them. */
import { dates } from "../kit/language.js";

const HOUR_MS = 3600000;
const EVERY = [HOUR_MS / 12, HOUR_MS / 4, HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS, 28 * 24 * HOUR_MS, 91 * 24 * HOUR_MS];
const clock = dates({ timeStyle: "short" });
const weekday = dates({ weekday: "short", day: "numeric" });
const date = dates({ day: "numeric", month: "short" });

/** first: a day begins there. @param {number} from @param {number} to @param {number} most how many there is room for */
export function ticks(from, to, most = 9) {
    const every = EVERY.find((e) => (to - from) / e <= most) ?? EVERY[EVERY.length - 1];
    const all = [];
    const day = new Date(from);
    day.setHours(0, 0, 0, 0);
    for (let at = day.getTime(), i = 1; at < to && i < 1000; i++) {
        if (at >= from) {
            const d = new Date(at);
            const first = d.getHours() === 0 && d.getMinutes() === 0;
            all.push({ at, first, words: every >= 7 * 24 * HOUR_MS ? date.format(d) : (first ? weekday : clock).format(d) });
        }
        const next = new Date(day);
        if (every >= 24 * HOUR_MS) next.setDate(next.getDate() + (i * every) / (24 * HOUR_MS));
        else next.setMinutes((i * every) / 60000);
        at = next.getTime();
    }
    return all;
}
