/* strip.js: the night strip: a row per GPU, time across. Brightness is work, a name stands where the holder changes, held without work is hatched,
 * a booking is an outline, what is not known is blank. The hub makes its stretches, and draws the same as a picture (src/draw/night.c). */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask } from "../kit/api.js";
import { metricLabel, stateName, stateOf } from "../kit/facts.js";
import { amount, exactTime, moment, percent, span } from "../kit/format.js";
import { html, keyed } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { Lines } from "../kit/lines.js";
import { isFresh } from "../kit/model.js";
import { Person } from "../kit/person.js";
import { href, setQuery } from "../kit/router.js";
import { Holders, Said } from "../kit/said.js";
import { sheet } from "../kit/sheet.js";
import { useLive, useTick } from "../kit/use.js";
import { ticks } from "./ticks.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Strip} StripData */
/** @typedef {import("../kit/types").StripRow} StripRow */
/** @typedef {import("../kit/types").Device} Device */
/** @typedef {import("../kit/types").Problem} Problem */

const ROW_PX = 20; /* later.css: .night-row, */
const NEXT_PX = 24; /* and of one that begins another node */
const LEVELS = 10; /* later.css has a shade for each */
const AGAIN_MS = 60000;
const RETRY_MS = 10000; /* after a question that failed */
const UNIT = { percent: (/** @type {number} */ share) => `${(100 * share).toFixed(3)}%` };

await sheet("later.css");

/** What is asked of the hub, and of it once a minute while it ends now. @param {Record<string, string | undefined>} words @param {{ from: number, to: number, live: boolean, range: string }} shown */
export function useStrip(words, { from, to, live, range }) {
    const asked = `${href("", words)} ${live ? range : `${from}-${to}`}`;
    const [got, setGot] = useState(/** @type {{ asked: string, strip: StripData, at: number } | null} */ (null));
    const [wrong, setWrong] = useState(/** @type {Problem | null} */ (null));
    const [turn, setTurn] = useState(0);
    useEffect(() => {
        const stop = new AbortController();
        let timer = 0;
        const times = { from: `${Math.floor(from)}`, to: `${Math.ceil(to)}` };
        ask(href("/api/v1/strip", { ...words, ...times }), { signal: stop.signal }).then(
            (strip) => {
                setWrong(null);
                setGot({ asked, strip, at: hubNow() });
            },
            (e) => {
                if (stop.signal.aborted) return;
                setWrong(e);
                timer = window.setTimeout(() => setTurn(turn + 1), RETRY_MS);
            },
        );
        return () => {
            clearTimeout(timer);
            stop.abort();
        };
    }, [asked, turn]);
    const due = got && live && hubNow() - got.at > Math.max(AGAIN_MS, got.strip.step / 2);
    useEffect(() => {
        if (due) setTurn(turn + 1);
    }, [due]);
    return { strip: got?.strip, stale: !!got && got.asked !== asked, wrong };
}

/* ---- one row ---- */

/** Known bins of one shade as a path in a box of so many bins by 1; shade 0 is all that are known. @param {(number | null)[]} work @param {number} level */
function shade(work, level) {
    let d = "";
    for (let i = 0, to; i < work.length; i = to) {
        to = i + 1;
        if (!fits(work[i], level)) continue;
        while (to < work.length && fits(work[to], level)) to++;
        d += `M${i} 0H${to}V1H${i}Z`;
    }
    return d;
}

/** @param {number | null} v @param {number} level */
function fits(v, level) {
    return v !== null && (level === 0 || Math.round((v * (LEVELS - 1)) / 100) === level);
}

/** @param {StripRow} r @param {StripData} s */
function inWords(r, s) {
    const known = /** @type {number[]} */ (r.work.filter((v) => v !== null));
    const who = [...new Set(r.held.map(([, , name]) => name ?? say.unknown))];
    const idle = r.idle.reduce((n, [a, b]) => n + b - a, 0) * s.step;
    const parts = [
        known.length ? say.onAverage(percent(known.reduce((a, b) => a + b, 0) / known.length / 100)) : say.nothingKnown,
        who.length ? say.heldBy(who.join(", ")) : "",
        idle ? say.heldIdle(span(idle)) : "",
        ...(r.booked ?? []).map((b) => say.bookedBy(b.person)),
        ...(r.wrong ?? []).map((w) => w.what),
    ];
    return `${r.name}: ${parts.filter(Boolean).join("; ")}`;
}

/** Where from and to lie, as a style. @param {StripData} s @param {number} from @param {number | null} to */
function place(s, from, to) {
    const share = (/** @type {number} */ t) => Math.min(1, Math.max(0, (t - s.from) / (s.to - s.from)));
    return { left: UNIT.percent(share(from)), width: UNIT.percent(share(to ?? s.now) - share(from)) };
}

/** @param {{ s: StripData, r: StripRow, above?: StripRow }} props */
function Track({ s, r, above }) {
    const bin = (/** @type {number} */ i) => s.from + i * s.step;
    const said = (/** @type {{ from: number, what: string }} */ w) => above?.node === r.node && above.wrong?.some((o) => o.from === w.from && o.what === w.what);
    const late = s.now - 0.3 * (s.to - s.from);
    const narrow = (/** @type {{ from: number, to: number | null }} */ w) => w.to === null && w.from > late;
    const covered = r.wrong?.some((w) => narrow(w) && !said(w)) ? late : Infinity; /* its words stand over what was before it */
    return html`<div class="night-track">
        <svg viewBox="0 0 ${r.work.length} 1" preserveAspectRatio="none" role="img" aria-label=${inWords(r, s)}>
            ${Array.from({ length: LEVELS }, (_, level) => {
                const d = shade(r.work, level);
                return d && html`<path class="shade${level}" d=${d} />`;
            })}
        </svg>
        ${r.idle.map(([a, b]) => html`<i class="unworked" style=${place(s, bin(a), bin(b))} />`)}
        ${r.held.map(([a, b, who]) => html`<span class="holder" style=${place(s, bin(a), bin(b))}>${bin(a) < covered && html`<em><${Holders} who=${who} /></em>`}</span>`)}
        ${r.booked?.map((b) => html`<span class="outline" style=${place(s, b.from, b.to)}><em>${say.bookedName} <${Person} name=${b.person} /></em></span>`)}
        ${r.wrong?.map((w) => html`<span aria-hidden="true" class="wrong ${narrow(w) ? "narrow" : ""}" style=${place(s, w.from, w.to)}>${!said(w) && html`<em>✕ ${w.what}${w.to === null && w.from > s.from ? ` ${say.since(moment(w.from, s.now))}` : ""}</em>`}</span>`)}
    </div>`;
}

/** Its state at this moment: a mark, and how busy it is or what it is. @param {{ d?: Device, r: StripRow }} props */
function Present({ d, r }) {
    const state = d?.state ?? r.state;
    const use = d && isFresh(d) && state !== "free" ? d.metrics.util : undefined;
    return html`<span class="night-now ${state}"><span class="mark">${stateOf.get(state)?.mark}</span> ${use !== undefined ? percent(use) : stateName(state)}</span>`;
}

const Row = keyed(
    (/** @type {{ s: StripData, r: StripRow, above?: StripRow, next: boolean, d?: Device, ends: boolean }} */ { s, r, above, next, d, ends }) => html`<div class="night-row ${next ? "next-node" : ""}" data-row=${r.device}>
        <a class="night-name" href="/gpu/${encodeURIComponent(r.device)}" title="${r.name} ${r.model ?? ""}">${r.name}</a>
        <${Track} s=${s} r=${r} above=${above} />
        ${ends && html`<${Present} d=${d} r=${r} />`}
    </div>`,
    ({ s, r, next, d, ends }) => `${next} ${s.now} ${s.from} ${r.device} ${ends} ${d?.state} ${d?.metrics.util}`,
);

/* ---- around the rows ---- */

/** @param {{ s: StripData }} props */
function Axis({ s }) {
    const all = ticks(s.from, s.to);
    const kept = Math.max(0, all.findIndex((t) => t.first)) % 2; /* where there is little room: every other, the day among them */
    return html`<div class="night-row night-axis" aria-hidden="true"><span /><div class="night-times">
        ${all.map((t, i) => html`<span class="${t.first ? "day" : ""} ${i % 2 === kept ? "" : "minor"}" style=${{ left: place(s, t.at, t.at).left }}>${t.words}</span>`)}
    </div><span /></div>`;
}

/** @param {{ label: string, unit: string, v: (number | null)[], of: string }} props */
function Curve({ label, unit, v, of }) {
    const known = /** @type {number[]} */ (v.filter((one) => one !== null));
    if (!known.length) return null;
    const most = Math.max(...known);
    const d = v.map((y, i) => (y === null ? "" : `M${i} 1V${(1 - y / (most || 1)).toFixed(3)}H${i + 1}V1Z`)).join("");
    const words = (/** @type {number} */ n) => (unit ? amount(unit, n) : `${n}`);
    return html`<div class="night-row night-curve">
        <span class="night-name">${label}</span>
        <div class="night-track" role="img" aria-label="${label}: ${say.fromTo(words(Math.min(...known)), words(most))}"><svg class=${of} viewBox="0 0 ${v.length} 1" preserveAspectRatio="none" aria-hidden="true"><path d=${d} /></svg></div>
        <span class="night-now">${say.to(words(most))}</span>
    </div>`;
}

/** What brightness is, in words: it is not the same of every GPU. @param {StripData} s */
function shadeWords(s) {
    const by = new Set(s.rows.map((r) => r.by));
    if (!by.has("sm_active")) return say.utilisation;
    return by.has("util") ? say.smOrUtil : say.smActive;
}

/** @param {{ s: StripData }} props */
function Legend({ s }) {
    return html`<ul class="night-legend dim" aria-label=${say.whatItShows}>
        <li><svg class="swatches" viewBox="0 0 5 1" preserveAspectRatio="none" aria-hidden="true">${[0, 3, 5, 7, 9].map((l, i) => html`<path class="shade${l}" d="M${i} 0h1v1h-1z" />`)}</svg> <span><span class="on-light">${say.darker}</span><span class="on-dark">${say.brighter}</span>${say.isBusier} ${shadeWords(s)}</span></li>
        <li><i class="unworked" /> ${say.heldWithout}</li>
        <li><i class="outline" /> ${say.booked}</li>
        <li><i class="blank" /> ${say.notKnown}</li>
    </ul>`;
}

/** What is under the pointer. @param {StripData} s @param {string} device @param {number} share */
function readOut(s, device, share) {
    const bin = Math.min(Math.floor(share * Math.round((s.to - s.from) / s.step)), Math.round((s.to - s.from) / s.step) - 1);
    const at = s.from + bin * s.step;
    const r = s.rows.find((one) => one.device === device);
    const inside = (/** @type {[number, number, ...any]} */ [a, b]) => a <= bin && bin < b;
    const during = (/** @type {{ from: number, to: number | null }} */ b) => b.from < at + s.step && (b.to ?? s.now) > at;
    const free = s.free[bin];
    const all = [s.power[bin] === undefined || s.power[bin] === null ? "" : amount("watts", s.power[bin] ?? undefined), free === null ? "" : say.free(free)];
    if (!r) return { at, words: all.filter(Boolean).join(", "), people: [] };
    const v = r.work[bin];
    const who = r.held.find(inside);
    const words = [
        r.wrong?.find(during)?.what ?? (v === null ? say.notKnown : percent(v / 100)),
        who ? `${who[2] ?? say.unknown}${r.idle.some(inside) ? `, ${say.withoutWork}` : ""}` : v === null ? "" : say.nobody,
        ...(r.booked?.filter(during).map((b) => say.bookedBy(b.person)) ?? []),
    ];
    return { at, words: `${r.name}: ${words.filter(Boolean).join(", ")}`, people: [...(who?.[2]?.split(/, | /) ?? []), ...(r.booked?.map((b) => b.person) ?? [])] };
}

/**
 * live: its right edge is now, and what each GPU does now stands beside it. byNode: GPUs of a node stand together.
 * @param {{ strip: StripData, live: boolean, byNode?: boolean, curves?: boolean }} props
 */
export function Strip({ strip: s, live, byNode = true, curves = true }) {
    const { nodes } = useLive();
    useTick();
    const [over, setOver] = useState(/** @type {{ x: number, at: number, words: string, people: string[] } | null} */ (null));
    const [drag, setDrag] = useState(/** @type {[number, number] | null} */ (null));
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    const meant = useRef(true); /* a click on a name; not the one that follows a drag, nor a finger's: what it touched is said, with the name */
    const now = new Map(nodes.flatMap((n) => n.devices.map((d) => [d.uuid, d])));
    const wide = Math.max(4, ...s.rows.map((r) => r.name.length));
    const lines = useMemo(
        () =>
            s.rows.map((r, i) => {
                const above = s.rows[i - 1];
                const next = byNode && !!above && above.node !== r.node;
                return { key: r.device, height: next ? NEXT_PX : ROW_PX, what: { r, above, next } };
            }),
        [s, byNode],
    );

    /** Where in time the pointer is, 0 to 1; null: beside the rows. @param {PointerEvent} e */
    function share(e) {
        const track = box.current?.querySelector(".night-track")?.getBoundingClientRect();
        if (!track || e.clientX < track.left || e.clientX >= track.right) return null;
        return (e.clientX - track.left) / track.width;
    }
    /** @param {PointerEvent} e */
    function onMove(e) {
        const x = share(e);
        if (x === null) return setOver(null);
        const row = e.target instanceof Element ? /** @type {HTMLElement | null} */ (e.target.closest("[data-row]")) : null;
        setOver({ x, ...readOut(s, row?.dataset.row ?? "", x) });
        if (drag) setDrag([drag[0], x]);
    }
    /** @param {PointerEvent} e */
    function onDown(e) {
        const x = share(e);
        meant.current = e.pointerType === "mouse";
        if (x !== null && e.pointerType === "mouse" && e.button === 0) setDrag([x, x]);
        onMove(e);
    }
    /** What a finger touched last stays said. @param {PointerEvent} e */
    function onLeave(e) {
        if (e.pointerType === "mouse") setOver(null);
        setDrag(null);
    }
    function onUp() {
        const [a, b] = drag ? [Math.min(...drag), Math.max(...drag)] : [0, 0];
        setDrag(null);
        if (b - a < 0.01) return;
        meant.current = false;
        const at = (/** @type {number} */ x) => `${Math.round(s.from + x * (s.to - s.from))}`;
        setQuery({ from: at(a), to: at(b) }, true);
    }

    return html`<section class="night ${live ? "ends-now" : ""}" style=${{ "--night-name": `min(${wide + 1}ch, 24vw)` }} aria-label=${say.whatEach}>
        <p class="night-said dim">${over ? html`<em><${Said} text=${over.words} people=${over.people} /></em> ${exactTime(over.at)}` : say.pointAtIt}</p>
        <div class="night-body" ref=${box} onPointerMove=${onMove} onPointerDown=${onDown} onPointerUp=${onUp} onPointerLeave=${onLeave} onDragStart=${(/** @type {Event} */ e) => e.preventDefault()} onClickCapture=${(/** @type {MouseEvent} */ e) => e.detail > 0 && !meant.current && e.preventDefault()}>
            <${Axis} s=${s} />
            <${Lines} lines=${lines} draw=${(/** @type {any} */ l) => html`<${Row} key=${l.key} s=${s} ...${l.what} d=${now.get(l.key)} ends=${live} />`} />
            ${curves && html`<${Curve} label=${metricLabel("power")} unit="watts" v=${s.power} of="of-power" /><${Curve} label=${stateName("free")} unit="" v=${s.free} of="of-free" />`}
            <div class="night-over" aria-hidden="true">
                ${ticks(s.from, s.to).map((t) => html`<i class=${t.first ? "day" : ""} style=${{ left: place(s, t.at, t.at).left }} />`)}
                ${over && html`<i class="cross" style=${{ left: UNIT.percent(over.x) }} />`}
                ${drag && html`<i class="dragged" style=${{ left: UNIT.percent(Math.min(...drag)), width: UNIT.percent(Math.abs(drag[1] - drag[0])) }} />`}
            </div>
        </div>
        <${Legend} s=${s} />
    </section>`;
}
