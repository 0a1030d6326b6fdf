/* details.js: what a GPU tells when one hovers over it, focuses or taps it: who is on it since when and with how much memory, how warm it is, how old that is. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Offer } from "../book/offer.js";
import { stateOf } from "../kit/facts.js";
import { bytes, exactTime, metric, moment, span, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, live } from "../kit/live.js";
import { indexOf, isFresh, modelName, nodeName, usersOf } from "../kit/model.js";
import { Person } from "../kit/person.js";
import { useLive, useTick, useWindow } from "../kit/use.js";
import { deviceSentence } from "./words.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */

const SLOW_MS = 120; /* a pointer that only passes by opens nothing */
const USERS = 8;

/** @param {string} uuid */
function find(uuid) {
    for (const n of live.nodes) for (const d of n.devices) if (d.uuid === uuid) return { n, d };
    return null;
}

/** @param {{ d: Device }} props */
function Users({ d }) {
    const users = usersOf(d);
    if (!users.length) return null;
    return html`<table class="users">
        <thead><tr><th>user</th><th>program</th><th class="num">memory</th><th class="num">for</th></tr></thead>
        <tbody>
            ${users.slice(0, USERS).map(
                (u) => html`<tr>
                    <td>${u.nobody || u.user === "?" ? u.user : html`<${Person} name=${u.user} />`}</td>
                    <td>${[...u.programs].join(", ") || UNKNOWN}</td>
                    <td class="num">${u.mem ? bytes(u.mem) : UNKNOWN}</td>
                    <td class="num" title=${Number.isFinite(u.start) ? exactTime(u.start) : ""}>${Number.isFinite(u.start) ? span(hubNow() - u.start) : UNKNOWN}</td>
                </tr>`,
            )}
            ${users.length > USERS && html`<tr><td colspan="4">and ${users.length - USERS} more</td></tr>`}
        </tbody>
    </table>`;
}

/** The driver's reasons in words; being idle is none. @param {Device} d */
function throttling(d) {
    if (!d.throttle) return UNKNOWN;
    const why = d.throttle.filter((w) => w !== "idle");
    return why.length ? `held down: ${why.join(", ")}` : "not held down";
}

/** @param {{ d: Device }} props */
function Numbers({ d }) {
    const m = d.metrics;
    const rows = [
        ["utilisation", metric("util", m.util)],
        ["memory", m.mem_total === undefined ? metric("mem_used", m.mem_used) : `${metric("mem_used", m.mem_used)} of ${metric("mem_total", m.mem_total)}`],
        ["temperature", metric("temp", m.temp)],
        ["power", m.power_limit === undefined ? metric("power", m.power) : `${metric("power", m.power)} of ${metric("power_limit", m.power_limit)}`],
        ["clocks", throttling(d)],
    ];
    return html`<dl>${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** @param {{ d: Device }} props */
function Take({ d }) {
    const [done, setDone] = useState(false);
    if (d.state !== "free") return null;
    const line = d.mig === undefined ? `CUDA_VISIBLE_DEVICES=${d.index}` : `CUDA_VISIBLE_DEVICES=${d.uuid}`;
    const copy = () => navigator.clipboard?.writeText(line).then(() => setDone(true), () => {});
    return html`<p class="take"><code>${line}</code> <button type="button" onClick=${copy}>${done ? "copied" : "copy"}</button></p>`;
}

/** Whose it is by booking, and what one can do about it. @param {{ n: Node, d: Device }} props */
function Booked({ n, d }) {
    const { booking, next } = d;
    const now = hubNow();
    const words = (/** @type {import("../kit/types").DeviceBooking} */ b) => html`<${Person} name=${b.person} />${b.comment ? ` (${b.comment})` : ""}`;
    return html`${booking && html`<p>booked until <span title=${exactTime(booking.until)}>${moment(booking.until, now)}</span> by ${words(booking)}</p>`}
        ${next && html`<p>booked from <span title=${exactTime(next.from)}>${moment(next.from, now)}</span> by ${words(next)}</p>`}
        <${Offer} n=${n} d=${d} />`;
}

/** @param {{ n: Node, d: Device }} props */
export function DeviceFacts({ n, d }) {
    useTick();
    const age = d.heard === undefined ? "no sample yet" : `${span(hubNow() - d.heard)} old`;
    return html`<h2>${nodeName(n)} · GPU ${indexOf(d)} <span class="dim">${modelName(d)}</span></h2>
        <p class="sentence ${d.state}"><span class="mark">${stateOf.get(d.state)?.mark}</span> ${deviceSentence(d, hubNow())}</p>
        ${d.note && html`<p class="dim">${d.note}</p>`}
        <${Users} d=${d} />
        ${!isFresh(d) && html`<p class="dim">when last seen:</p>`}
        <${Numbers} d=${d} />
        <${Booked} n=${n} d=${d} />
        <${Take} d=${d} />
        <p class="dim" title=${d.heard === undefined ? "" : exactTime(d.heard)}>${age}</p>`;
}

/** Beside the cell, within the window. @param {HTMLElement} panel @param {DOMRect} at */
function put(panel, at) {
    const { width, height } = panel.getBoundingClientRect();
    const below = at.bottom + 4;
    const top = below + height < innerHeight - 8 ? below : Math.max(8, at.top - height - 4);
    panel.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
    panel.style.top = `${top}px`;
}

/** The one panel of a view. of: the element whose cells ([data-uuid]) it speaks of. @param {{ of: { current: HTMLElement | null } }} props */
export function Details({ of }) {
    const [open, setOpen] = useState(/** @type {{ uuid: string, cell: HTMLElement } | null} */ (null));
    const panel = useRef(/** @type {HTMLElement | null} */ (null));
    const timer = useRef(0);
    useLive();

    useLayoutEffect(() => {
        /* before the first paint: a pointer may already be there */
        const box = of.current;
        if (!box) return undefined;
        /** @param {Event} e */
        const cellOf = (e) => (e.target instanceof Element ? /** @type {HTMLElement | null} */ (e.target.closest("[data-uuid]")) : null);
        /** @param {HTMLElement | null} cell @param {number} ms */
        const later = (cell, ms) => {
            clearTimeout(timer.current);
            timer.current = window.setTimeout(() => setOpen(cell ? { uuid: cell.dataset.uuid ?? "", cell } : null), ms);
        };
        /** @param {PointerEvent} e */
        const over = (e) => {
            if (e.pointerType === "touch") return;
            const cell = cellOf(e);
            if (cell) later(cell, SLOW_MS);
        };
        /** @param {PointerEvent} e */
        const out = (e) => {
            if (e.pointerType !== "touch" && cellOf(e)) later(null, 2 * SLOW_MS);
        };
        /** @param {Event} e */
        const focus = (e) => {
            const cell = cellOf(e);
            if (cell?.matches(":focus-visible")) later(cell, 0);
        };
        const blur = () => later(null, 2 * SLOW_MS);
        /** A finger cannot hover: the first tap tells, the panel has the link. @param {MouseEvent} e */
        const tap = (e) => {
            const cell = cellOf(e);
            if (!cell || /** @type {PointerEvent} */ (e).pointerType !== "touch") return;
            e.preventDefault();
            e.stopPropagation();
            later(cell, 0);
        };
        const on = /** @type {[string, any][]} */ ([["pointerover", over], ["pointerout", out], ["focusin", focus], ["focusout", blur], ["click", tap]]);
        for (const [name, f] of on) box.addEventListener(name, f);
        return () => {
            clearTimeout(timer.current);
            for (const [name, f] of on) box.removeEventListener(name, f);
        };
    }, []);

    useWindow("keydown", (e) => {
        if (e.key === "Escape") setOpen(null);
    });
    useWindow("scroll", () => setOpen(null));
    useLayoutEffect(() => {
        if (open && panel.current) put(panel.current, open.cell.getBoundingClientRect());
    });

    const found = open && open.cell.isConnected ? find(open.uuid) : null;
    if (!found) return null;
    const page = `/gpu/${encodeURIComponent(found.d.uuid)}`;
    const stay = () => clearTimeout(timer.current);
    const leave = () => {
        timer.current = window.setTimeout(() => setOpen(null), 2 * SLOW_MS);
    };
    return html`<div class="details" ref=${panel} role="status" onPointerEnter=${stay} onPointerLeave=${leave}>
        <${DeviceFacts} n=${found.n} d=${found.d} />
        <p class="more"><a href=${page}>history of this GPU</a> <button type="button" class="close" onClick=${() => setOpen(null)}>close</button></p>
    </div>`;
}
