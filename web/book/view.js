/* view.js: the view /bookings: who has which GPU when, as a calendar with GPUs as rows, and under each booking who was really on the GPU. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { whoWas } from "../history/history.js";
import { Choice, chosen } from "../kit/choice.js";
import { NoMatch, NoNodes, Refused } from "../kit/empty.js";
import { stateOf } from "../kit/facts.js";
import { FilterBox } from "../kit/filterbox.js";
import { COMMA, moment } from "../kit/format.js";
import { html } from "../kit/html.js";
import { Lines } from "../kit/lines.js";
import { hubNow, watch } from "../kit/live.js";
import { devicesOf, modelBrief, nodeName, ownNodes } from "../kit/model.js";
import { setQuery, usePlace } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { useLive, useNews, useTick, whileSeen } from "../kit/use.js";
import { book } from "./book.js";
import { firstFree, mayChange, room, save, useBookings, usualMs } from "./bookings.js";
import { dayText, daysShown, midnight, SHOWN, snapDown, ticks, title } from "./calendar.js";
import { useDrag } from "./drag.js";
import { bookingWords, Folded, Lane, put } from "./lane.js";
import { BookList, InLine } from "./list.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Booking} Booking */
/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Problem} Problem */
/** @typedef {import("../kit/types").Span} Span */

await sheet("later.css");

const FEW = 12; /* nodes: of more all come folded; of few those on which nothing is free or booked */
const NARROW = matchMedia("(max-width: 672px)"); /* as in style.css */
const HEAD_PX = 28; /* style.css has these heights too */
const ROW_PX = 28;
const USE_AGAIN_MS = 60000;

/** Where we are in time. @param {{ time: { from: number, to: number } }} props */
function NowLine({ time }) {
    useTick();
    const now = hubNow();
    return now > time.from && now < time.to ? html`<i class="now-line" style=${{ left: put(time, now, now).left }} />` : null;
}

/** Who was really on a node's GPUs; asked for nodes that are looked at. @type {Map<string, { at: number, spans: Span[] }>} */
const uses = new Map();
/** All rows of a node wait for one answer. @type {Set<() => void>} */
const useReaders = new Set();

/** @param {() => void} tell */
function onUses(tell) {
    useReaders.add(tell);
    return () => useReaders.delete(tell);
}

/** @param {Node} n @param {{ from: number, to: number }} time */
function useSpans(n, { from, to }) {
    const key = `${n.id} ${from} ${to}`;
    useNews(onUses);
    useEffect(() => {
        const stop = new AbortController();
        const look = () => {
            const now = hubNow();
            if (from > now || now - (uses.get(key)?.at ?? -Infinity) < USE_AGAIN_MS) return;
            uses.set(key, { at: now, spans: uses.get(key)?.spans ?? [] });
            whoWas({ node: n.id, from, to: Math.min(to, now), signal: stop.signal }).then(
                ({ spans }) => {
                    uses.set(key, { at: now, spans });
                    for (const tell of [...useReaders]) tell();
                },
                () => uses.delete(key), /* bookings are shown without it; it is asked for again */
            );
        };
        look();
        const rest = whileSeen(look, USE_AGAIN_MS / 4);
        return () => {
            rest();
            stop.abort();
        };
    }, [key]);
    return uses.get(key)?.spans ?? [];
}

/** @param {{ n: Node, d: import("../kit/types").Device, time: any, rest: any }} props */
function Row({ n, d, time, rest }) {
    const spans = useSpans(n, time).filter((s) => s.device === d.uuid);
    return html`<${Lane} n=${n} d=${d} time=${time} spans=${spans} ...${rest} />`;
}

/** @param {{ n: Node, folded: boolean, flip: () => void, by: Map<string, Booking[]>, time: any }} props */
function NodeHead({ n, folded, flip, by, time }) {
    const devices = devicesOf(n);
    const free = devices.filter((d) => d.state === "free").length;
    return html`<div class="book-head">
        <button type="button" aria-expanded=${!folded} onClick=${flip}><span aria-hidden="true">${folded ? "▸" : "▾"}</span> <b>${nodeName(n)}</b>${" "}
            <span class="free" title=${say.freeNow(free)}><span class="mark">${stateOf.get("free")?.mark}</span> ${free}</span> <span class="dim">${say.ofModel(devices.length, modelBrief(n))}</span></button>
        ${folded && html`<${Folded} n=${n} by=${by} time=${time} />`}
    </div>`;
}

/** @param {{ from: number, days: string, today: boolean }} props */
function Turn({ from, days, today }) {
    const to = (/** @type {number} */ n) => {
        const at = dayText(midnight(from, n * Number(days)));
        setQuery({ from: at === dayText(hubNow()) ? undefined : at }, true);
    };
    return html`<span class="turn">
        <button type="button" aria-label=${say.earlier} title=${say.earlier} onClick=${() => to(-1)}>‹</button>
        <button type="button" disabled=${today} onClick=${() => setQuery({ from: undefined }, true)}>${say.today}</button>
        <button type="button" aria-label=${say.later} title=${say.later} onClick=${() => to(1)}>›</button>
    </span>`;
}

export default function BookingsView() {
    const { query } = usePlace();
    const { nodes: all, generation, status, problem, filter } = useLive();
    const nodes = ownNodes(all);
    const narrow = NARROW.matches;
    const days = chosen("days", SHOWN, narrow ? "1" : "7", true);
    const time = daysShown(query, days, hubNow());
    const { from, to, step } = time;
    const known = useBookings(from, to);
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    const [shutBy, setShutBy] = useState(/** @type {Map<string, boolean>} */ (new Map())); /* whom the reader folded or unfolded */
    const [foldAll, setFoldAll] = useState(/** @type {boolean | null} */ (null));
    useEffect(() => watch({ filter: query.get("filter") ?? "" }), [query]);

    const rows = useMemo(() => known.rows.filter((b) => b.from < to && b.until > from), [known.rows, from, to]);
    const by = useMemo(() => {
        /** @type {Map<string, Booking[]>} */
        const map = new Map();
        for (const b of rows) for (const d of b.devices) map.set(d, [...(map.get(d) ?? []), b]);
        return map;
    }, [rows]);

    /** @param {Booking} b @param {Partial<import("../kit/types").Draft>} [changes] */
    const open = (b, changes) => book({ id: b.id, begun: b.state === "active", devices: b.devices, from: b.from, until: b.until, comment: b.comment ?? "", person: b.person, ...(mayChange(b) ? changes : { words: bookingWords(b) }) });
    /** A new end or beginning; what is refused is in the form, with the sentence why. @param {Booking} b @param {{ from?: number, until?: number }} changes */
    const change = (b, changes) => save(changes, b.id).catch((/** @type {Problem} */ e) => open(b, { ...changes, wrong: e.detail }));

    const dragged = useDrag({
        box,
        time,
        rows: known.rows,
        booked: (d) => book({ devices: d.devices, from: d.from, until: d.until }),
        moved: (d) => d.b && void change(d.b, d.from === d.b.from ? { until: d.until } : { from: d.from, until: d.until }),
        still: (uuid, t) => {
            const at = Math.max(snapDown(t, from, step), hubNow());
            const { hi } = room(known.rows, [uuid], at);
            if (t < hubNow() - step) return;
            book({ devices: [uuid], from: at, until: Math.min(at + usualMs(), hi) });
        },
    });

    /** The longer or shorter by a step. @param {KeyboardEvent} e */
    function onKey(e) {
        const id = Number(/** @type {HTMLElement} */ (e.target).dataset?.id);
        const b = known.rows.find((one) => one.id === id);
        if (!b || !mayChange(b) || !e.shiftKey || (e.key !== "ArrowLeft" && e.key !== "ArrowRight")) return;
        e.preventDefault();
        void change(b, { until: b.until + (e.key === "ArrowRight" ? step : -step) });
    }

    /* What is free changes all the time, and rows keep their place: it is looked at when nodes come or go. */
    const free = useMemo(() => new Set(nodes.filter((n) => devicesOf(n).some((d) => d.state === "free")).map((n) => n.id)), [generation]);
    const isFull = (/** @type {Node} */ n) => nodes.length > FEW || !(free.has(n.id) || devicesOf(n).some((d) => by.has(d.uuid)));
    const folded = (/** @type {Node} */ n) => shutBy.get(n.id) ?? foldAll ?? isFull(n);
    const flip = (/** @type {Node} */ n) => setShutBy(new Map(shutBy).set(n.id, !folded(n)));
    let first = true;
    const there = known.known || known.problem; /* before that nobody knows what is to be folded */
    const lines = !there ? [] : nodes.flatMap((n) => {
        const shut = folded(n);
        const head = { key: n.id, height: HEAD_PX, what: () => html`<${NodeHead} key=${n.id} n=${n} folded=${shut} flip=${() => flip(n)} by=${by} time=${time} />` };
        if (shut) return [head];
        return [
            head,
            ...devicesOf(n).map((d) => {
                const isFirst = first;
                first = false;
                const booked = (by.get(d.uuid) ?? []).map((b) => (dragged?.b?.id === b.id ? { ...b, from: dragged.from, until: dragged.until } : b));
                const draft = dragged && !dragged.b && dragged.devices.includes(d.uuid) ? dragged : null;
                const rest = { booked, draft, first: isFirst, open, begin: (/** @type {string} */ uuid) => book({ devices: [uuid], ...firstFree(known.rows, [uuid], Math.max(from, hubNow())) }) };
                return { key: d.uuid, height: ROW_PX, what: () => html`<${Row} key=${d.uuid} n=${n} d=${d} time=${time} rest=${rest} />` };
            }),
        ];
    });

    const active = known.rows.filter((b) => b.state === "active");
    const booked = new Set(active.flatMap((b) => b.devices)).size;
    const next = known.rows.filter((b) => b.mine && b.state !== "over").sort((a, b) => a.from - b.from)[0];
    const shut = nodes.filter(folded).length > nodes.length / 2;
    return html`<div class="bookings ${status}">
        <div class="lead">
            <h1>${known.known ? (booked ? say.bookedNow(booked) : say.nothingNow) : say.heading}${next ? html`<span class="where">${COMMA}${next.state === "active" ? say.yoursUntil(moment(next.until, hubNow())) : say.yoursFrom(moment(next.from, hubNow()))}</span>` : ""}</h1>
            <${FilterBox} />
        </div>
        <div class="strip">
            <span class="turn-to"><${Turn} from=${from} days=${days} today=${time.today} /> <b>${title(from, to)}</b></span>
            <span class="controls">
                <button type="button" class="main" onClick=${() => book({ devices: [] })}>${say.bookGpusButton}</button>
                ${nodes.length > 1 && html`<button type="button" onClick=${() => (setFoldAll(!shut), setShutBy(new Map()))}>${shut ? say.unfoldAll : say.foldAll}</button>`}
                <${Choice} name="days" label=${say.show} options=${SHOWN} value=${days} remember />
                <a class="dim" data-load href="/api/v1/bookings.ics" title=${say.feedMeans}>${say.feed}</a>
            </span>
        </div>
        ${known.problem && html`<p class="error" role="alert">${known.problem.detail}</p>`}
        <div class="calendar" ref=${box} onKeyDown=${onKey}>
            ${nodes.length > 0 && html`<div class="book-axis" aria-hidden="true"><span /><div class="book-track">
                ${ticks(from, to, days, narrow).map((k) => html`<span style=${{ left: put(time, k.at, k.at).left }}>${k.words}</span>`)}
            </div></div>
            <div class="book-grid" aria-hidden="true"><div class="book-track">
                ${ticks(from, to, days, narrow).map((k) => html`<i class=${k.day ? "day" : ""} style=${{ left: put(time, k.at, k.at).left }} />`)}
                <${NowLine} time=${time} />
            </div></div>`}
            <${Lines} lines=${lines} draw=${(/** @type {any} */ l) => l.what()} />
        </div>
        ${!nodes.length && status === "live" && (filter ? html`<${NoMatch} />` : html`<${NoNodes} />`)}
        ${!nodes.length && status === "lost" && problem && html`<${Refused} />`}
        ${nodes.length > 0 && html`<ul class="book-legend dim">
            <li><span class="booking mine" /> ${say.yours}</li><li><span class="booking" /> ${say.booked}</li><li><span class="booking unused" /> ${say.bookedUnused}</li>
            <li><i class="used" /> ${say.reallyUsed}</li><li><i class="used not-theirs" /> ${say.usedByOther}</li>
            <li>${say.howTo}</li>
        </ul>
        <${InLine} waits=${known.waits ?? []} me=${known.me} />
        <${BookList} rows=${rows} open=${open} />`}
    </div>`;
}
