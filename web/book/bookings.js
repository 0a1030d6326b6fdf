/* bookings.js: what is booked, asked of the hub; and what may be booked: which time is still free on which GPUs. */
import { useEffect } from "preact/hooks";
import { session } from "../access/session.js";
import { ask, send } from "../kit/api.js";
import { hubNow, live } from "../kit/live.js";
import { devicesOf, indexOf, nodeName } from "../kit/model.js";
import { pref, setPref } from "../kit/prefs.js";
import { useNews, whileSeen } from "../kit/use.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Booking} Booking */
/** @typedef {import("../kit/types").Bookings} Bookings */
/** @typedef {import("../kit/types").Draft} Draft */
/** @typedef {import("../kit/types").Problem} Problem */

const AGAIN_MS = 15000;
const HOUR_MS = 3600000;
const AHEAD_MS = 92 * 86400000; /* how far a draft's own time is looked at */

/** @type {Bookings & { known: boolean, problem: Problem | null }} */
export const bookings = { auth: "open", me: null, rows: [], waits: [], known: false, problem: null };

/** @type {Set<() => void>} */
const readers = new Set();

/** @param {() => void} tell */
function onBookings(tell) {
    readers.add(tell);
    return () => readers.delete(tell);
}

let wanted = { from: 0, to: 0 };

/** Where names are typed the hub must be told ours; elsewhere it knows better. @param {Record<string, string>} query */
const withMe = (query) => new URLSearchParams({ ...query, ...(pref("person", "") && { me: pref("person", "") }) });

/** Given back early: it ended then; before its beginning: there is none. @param {Booking[]} rows @returns {Booking[]} */
function standing(rows) {
    return rows
        .filter((b) => b.state !== "released" || (b.released ?? 0) > b.from)
        .map((b) => (b.state === "released" ? { ...b, state: "over", until: Math.min(b.until, b.released ?? b.until) } : b));
}

/** Throws a Problem. @param {number} from @param {number} to @returns {Promise<Bookings>} */
async function bookingsOf(from, to) {
    const got = await ask(`/api/v1/bookings?${withMe({ from: `${Math.floor(from)}`, to: `${Math.floor(to)}` })}`);
    return { ...got, rows: standing(got.rows) };
}

/** Throws nothing: what went wrong is shown where bookings are. */
export async function look() {
    const { from, to } = wanted;
    if (!to) return;
    try {
        const [got, { rows: waits }] = await Promise.all([bookingsOf(from, to), ask("/api/v1/waits")]);
        if (from !== wanted.from || to !== wanted.to) return;
        Object.assign(bookings, got, { waits, known: true, problem: null });
    } catch (e) {
        bookings.problem = /** @type {Problem} */ (e);
    }
    for (const tell of [...readers]) tell();
}

/** Bookings of a time, kept up to date while this is on the screen. @param {number} from @param {number} to */
export function useBookings(from, to) {
    useNews(onBookings);
    useEffect(() => {
        wanted = { from, to };
        void look();
        const rest = whileSeen(look, AGAIN_MS);
        return () => {
            rest();
            wanted = { from: 0, to: 0 };
        };
    }, [from, to]);
    return bookings;
}

/** For a draft: who may book as whom, and what is booked from now on. Throws a Problem. */
export const askAhead = () => bookingsOf(hubNow(), hubNow() + AHEAD_MS);

/** Throws a Problem. @param {Record<string, unknown>} body @param {number} [id] of the one to change @returns {Promise<Booking>} */
export async function save(body, id) {
    const made = await (id === undefined ? send("/api/v1/bookings", body) : send(`/api/v1/bookings/${id}?${withMe({})}`, body, "PATCH"));
    await look();
    return made;
}

/** Throws a Problem. @param {number} id */
export async function release(id) {
    await ask(`/api/v1/bookings/${id}?${withMe({})}`, { method: "DELETE" });
    await look();
}

/** Its owner or an admin, until it is over; the hub has the last word. @param {Booking} b */
export const mayChange = (b) => b.kind === "booking" && b.state !== "over" && (b.mine || session.role === "admin");

/* ---- which time is free ---- */

/** For how long one usually books. */
export const usualMs = () => Math.min(Math.max(Number(pref("book-for", "")) || 4 * HOUR_MS, HOUR_MS / 4), 31 * 24 * HOUR_MS);

/** @param {number} ms */
export const setUsual = (ms) => setPref("book-for", `${Math.round(ms)}`);

/** What is free around t on all of these, as far as is known: past times are not. @param {Booking[]} rows @param {string[]} devices @param {number} t @param {number} [but] id of one that does not count */
export function room(rows, devices, t, but) {
    let lo = hubNow();
    let hi = Infinity;
    for (const b of rows) {
        if (b.id === but || !b.devices.some((d) => devices.includes(d))) continue;
        if (b.until <= t) lo = Math.max(lo, b.until);
        else if (b.from > t) hi = Math.min(hi, b.from);
        else return { lo: t, hi: t };
    }
    return { lo, hi };
}

/** The first free time at or after t: as long as usual, or up to the next booking. @param {Booking[]} rows @param {string[]} devices @param {number} t */
export function firstFree(rows, devices, t) {
    let from = Math.max(t, hubNow());
    for (const b of [...rows].sort((a, c) => a.from - c.from)) if (b.from <= from && b.until > from && b.devices.some((d) => devices.includes(d))) from = b.until;
    const { hi } = room(rows, devices, from);
    return { from, until: Math.min(from + usualMs(), hi) };
}

/* ---- in words ---- */

/** Where a GPU is. @param {string} uuid */
export function whereIs(uuid) {
    for (const n of live.nodes) for (const d of devicesOf(n)) if (d.uuid === uuid) return { n, d };
    return null;
}

/** "dgx2:0,1 dgx3:4" @param {string[]} devices */
export function placesOf(devices) {
    /** @type {Map<string, string[]>} */
    const by = new Map();
    let unknown = 0;
    for (const uuid of devices) {
        const at = whereIs(uuid);
        if (at) by.set(nodeName(at.n), [...(by.get(nodeName(at.n)) ?? []), indexOf(at.d)]);
        else unknown++;
    }
    const parts = [...by].map(([node, gpus]) => `${node}:${gpus.join()}`);
    if (unknown) parts.push(by.size ? say.elsewhere(unknown) : say.noNodeHas(unknown));
    return parts.join(" ");
}

/** A booking's, also where its node is not shown. @param {Booking} b */
export function placeOf(b) {
    const here = b.devices.every((d) => whereIs(d));
    return here || !b.node ? placesOf(b.devices) : `${b.node}:${b.gpus.map((g) => g ?? "?").join()}`;
}

/** What is really done with a booking, or on one GPU of it; "" when there is nothing to say. @param {Pick<Booking, "use" | "others">} b */
function useWords(b) {
    const others = b.others?.join(", ") || say.somebodyElse;
    return { unused: say.unused, own: "", others: say.usedBy(others), shared: say.sharedWith(others) }[b.use ?? "own"];
}

/** What is done on this GPU of it. @param {Booking} b @param {string} uuid */
export function useAt(b, uuid) {
    const at = b.places.find((p) => p.device === uuid);
    return { use: at?.use ?? null, words: at ? useWords(at) : "" };
}

/** What is done with all of it; where somebody else is on some of its GPUs only: on which. @param {Booking} b */
export function useOf(b) {
    const taken = b.places.filter((p) => p.others.length);
    const words = useWords(b);
    return taken.length && taken.length < b.places.length ? say.onSome(words, placesOf(taken.map((p) => p.device))) : words;
}
