/* trends.js: sums of the whole cluster over time, out of the rows that the hub counts per model. */

/** @typedef {import("../kit/types").UsageRow} UsageRow */

/** What all GPUs did at a moment's period, on average: numbers of GPUs, and watts. @typedef {{ label: string, busy: number, idle: number, free: number, unused: number, down: number, power: number, held: number, energy: number, cost: number | undefined }} Mean */

/** Rows of one moment are of several models: each is made a mean by its own GPUs and time. @param {UsageRow[]} rows @returns {Mean[]} by time */
export function meansOf(rows) {
    /** @type {Map<number, Mean>} */
    const by = new Map();
    for (const r of [...rows].sort((a, b) => a.at - b.at)) {
        if (!r.wall || !r.gpus) continue;
        const seconds = r.wall / r.gpus; /* that were counted of a GPU */
        const m = by.get(r.at) ?? { label: r.label ?? "", busy: 0, idle: 0, free: 0, unused: 0, down: 0, power: 0, held: 0, energy: 0, cost: undefined };
        m.busy += (r.busy ?? 0) / seconds;
        m.idle += (r.idle ?? 0) / seconds;
        m.free += (r.free ?? 0) / seconds;
        m.unused += (r.booked_unused ?? 0) / seconds;
        m.down += (r.down ?? 0) / seconds;
        m.power += (r.energy ?? 0) / seconds;
        m.held += r.held ?? 0;
        m.energy += r.energy ?? 0;
        if (r.cost !== undefined) m.cost = (m.cost ?? 0) + r.cost;
        by.set(r.at, m);
    }
    return [...by.values()];
}

/** @param {Mean} m */
export const allOf = (m) => m.busy + m.idle + m.free + m.unused + m.down;

/** What a week is like: for each weekday, Monday first, and hour the mean of a number; undefined where there is none. Labels are "2026-11-15 14:00". @param {Mean[]} hours @param {(m: Mean) => number} of @returns {(number | undefined)[][]} */
export function weekOf(hours, of) {
    const sums = Array.from({ length: 7 }, () => Array.from({ length: 24 }, () => ({ n: 0, sum: 0 })));
    for (const m of hours) {
        const [day, hour] = m.label.split(/[ T]/);
        const at = sums[(new Date(`${day}T00:00Z`).getUTCDay() + 6) % 7]?.[Number.parseInt(hour)];
        if (!at) continue;
        at.n++;
        at.sum += of(m);
    }
    return sums.map((row) => row.map(({ n, sum }) => (n ? sum / n : undefined)));
}
