/* panel.js: what details.js shows of a GPU. Loaded when that is first asked for. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Offer } from "../book/offer.js";
import { metricLabel, stateOf } from "../kit/facts.js";
import { bytes, exactTime, metric, moment, span, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { indexOf, isFresh, modelName, nameAtSite, nodeName, usersOf } from "../kit/model.js";
import { Person } from "../kit/person.js";
import { useTick } from "../kit/use.js";
import { deviceSentence } from "./sentences.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */

const USERS = 8;

/** @param {{ d: Device }} props */
function Users({ d }) {
    const users = usersOf(d);
    if (!users.length) return null;
    return html`<table class="users">
        <thead><tr><th>${say.user}</th><th>${say.program}</th><th class="num">${say.memory}</th><th class="num">${say.howLong}</th></tr></thead>
        <tbody>
            ${users.slice(0, USERS).map(
                (u) => html`<tr>
                    <td>${u.nobody || u.user === "?" ? u.user : html`<${Person} name=${u.user} />`}</td>
                    <td>${[...u.programs].join(", ") || UNKNOWN}</td>
                    <td class="num">${u.mem ? bytes(u.mem) : UNKNOWN}</td>
                    <td class="num" title=${Number.isFinite(u.start) ? exactTime(u.start) : ""}>${Number.isFinite(u.start) ? span(hubNow() - u.start) : UNKNOWN}</td>
                </tr>`,
            )}
            ${users.length > USERS && html`<tr><td colspan="4">${say.more(users.length - USERS)}</td></tr>`}
        </tbody>
    </table>`;
}

/** The driver's reasons in words; being idle is none. @param {Device} d */
function throttling(d) {
    if (!d.throttle) return UNKNOWN;
    const why = d.throttle.filter((w) => w !== "idle");
    return why.length ? say.slowedBy(why.join(", ")) : say.fullSpeed;
}

/** @param {{ d: Device }} props */
function Numbers({ d }) {
    const m = d.metrics;
    const rows = [
        [metricLabel("util"), metric("util", m.util)],
        ...(m.work === undefined ? [] : [[metricLabel("work"), metric("work", m.work)]]),
        [say.memory, m.mem_total === undefined ? metric("mem_used", m.mem_used) : say.of(metric("mem_used", m.mem_used), metric("mem_total", m.mem_total))],
        [metricLabel("temp"), metric("temp", m.temp)],
        [metricLabel("power"), m.power_limit === undefined ? metric("power", m.power) : say.of(metric("power", m.power), metric("power_limit", m.power_limit))],
        [say.clocks, throttling(d)],
    ];
    return html`<dl>${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** @param {{ n: Node, d: Device }} props */
function Take({ n, d }) {
    const [done, setDone] = useState(false);
    if (d.state !== "free") return null;
    const line = d.mig === undefined ? `CUDA_VISIBLE_DEVICES=${d.index}` : `CUDA_VISIBLE_DEVICES=${nameAtSite(n, d.uuid)}`;
    const copy = () => navigator.clipboard?.writeText(line).then(() => setDone(true), () => {});
    return html`<p class="take"><code>${line}</code> <button type="button" onClick=${copy}>${done ? say.copied : say.copy}</button></p>`;
}

/** Whose it is by booking, and what one can do about it. @param {{ n: Node, d: Device }} props */
function Booked({ n, d }) {
    const { booking, next } = d;
    const now = hubNow();
    const words = (/** @type {import("../kit/types").DeviceBooking} */ b) => html`<${Person} name=${b.person} />${b.comment ? ` (${b.comment})` : ""}`;
    return html`${booking && html`<p>${say.bookedUntil(html`<span title=${exactTime(booking.until)}>${moment(booking.until, now)}</span>`, words(booking))}</p>`}
        ${next && html`<p>${say.bookedFrom(html`<span title=${exactTime(next.from)}>${moment(next.from, now)}</span>`, words(next))}</p>`}
        <${Offer} n=${n} d=${d} />`;
}

/** @param {{ n: Node, d: Device }} props */
function DeviceFacts({ n, d }) {
    useTick();
    const age = d.heard === undefined ? say.noSample : say.old(span(hubNow() - d.heard));
    return html`<h2>${nodeName(n)} · GPU ${indexOf(d)} <span class="dim">${modelName(d)}</span></h2>
        <p class="sentence ${d.state}"><span class="mark">${stateOf.get(d.state)?.mark}</span> ${deviceSentence(d, hubNow())}</p>
        ${d.note && !d.reason.includes(d.note) && html`<p class="dim">${d.note}</p>`}
        <${Users} d=${d} />
        ${!isFresh(d) && html`<p class="dim">${say.lastSeen}</p>`}
        <${Numbers} d=${d} />
        <${Booked} n=${n} d=${d} />
        <${Take} n=${n} d=${d} />
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

/** cell: beside which it stands. @param {{ n: Node, d: Device, cell: HTMLElement, stay: () => void, leave: () => void, close: () => void }} props */
export function Panel({ n, d, cell, stay, leave, close }) {
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    useLayoutEffect(() => {
        if (box.current) put(box.current, cell.getBoundingClientRect());
    });
    return html`<div class="details" ref=${box} role="status" onPointerEnter=${stay} onPointerLeave=${leave}>
        <${DeviceFacts} n=${n} d=${d} />
        <p class="more"><a href="/gpu/${encodeURIComponent(d.uuid)}">${say.historyOf}</a> <button type="button" class="close" onClick=${close}>${say.close}</button></p>
    </div>`;
}
