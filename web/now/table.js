/* table.js: Now as a table with the numbers, a panel for each host that folds and stays so, as GPU Monitor's users know it. It is loaded when it is asked for. */
import { useMemo, useState } from "preact/hooks";
import { book } from "../book/book.js";
import { useBookings } from "../book/bookings.js";
import { stateName, stateOf } from "../kit/facts.js";
import { bytes, exactTime, inUnit, metric, moment, NBSP, number, percent, spanShort, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { Lines } from "../kit/lines.js";
import { hubNow, live } from "../kit/live.js";
import { devicesOf, fullness, GONE_WORDS, indexOf, isFresh, isGone, modelName, nodeName } from "../kit/model.js";
import { pref, setPref } from "../kit/prefs.js";
import { sheet } from "../kit/sheet.js";
import { heardOf, level } from "./host.js";
import { heading } from "./layout.js";
import { Age, Head } from "./node.js";
import { deviceSentence, nodeLabel, nodeTrouble } from "./sentences.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */
/** @typedef {import("../kit/types").Booking} Booking */
/** @typedef {import("../kit/types").DeviceBooking} DeviceBooking */

await sheet("later.css");

const HOUR_MS = 3600000;
const DAY_MS = 24 * HOUR_MS;
const OVER_MS = 2 * DAY_MS; /* for so long one that ended is shown */

/** The remaining time in the format of GPU Monitor's page: hours rounded up, and of these the whole days: "3 h", "2 d" @param {number} ms */
export function left(ms) {
    const hours = Math.max(1, Math.ceil(ms / HOUR_MS));
    return hours < 24 ? inUnit(hours, 1) : inUnit(Math.floor(hours / 24), 0);
}

/** A GPU's whole memory, in GiB @param {Device} d */
const size = (d) => (d.metrics.mem_total ? ` (${number(Math.round(d.metrics.mem_total / 2 ** 30))}${NBSP}GiB)` : "");

/** The last booking of each GPU that has ended and may still matter. @param {Booking[]} rows @param {number} now */
export function endedOf(rows, now) {
    /** @type {Map<string, Booking>} */
    const last = new Map();
    for (const b of rows)
        if (b.until <= now && b.until > now - OVER_MS) for (const uuid of b.devices) if (b.until > (last.get(uuid)?.until ?? 0)) last.set(uuid, b);
    return last;
}

/** @param {{ b: DeviceBooking | Booking, when: string, over?: boolean }} props */
function Booked({ b, when, over }) {
    return html`<span class="booked ${over ? "dim" : ""}" title=${say.fromTo(exactTime(b.from), exactTime(b.until))}>${b.person} ${when}${b.comment ? html` <span class="dim">${b.comment}</span>` : ""}</span> `;
}

/** @param {{ d: Device, node: string, ended?: Booking }} props */
function Reservation({ d, node, ended }) {
    const { booking, next } = d;
    const now = hubNow();
    if (booking) return html`<${Booked} b=${booking} when=${`(${left(booking.until - now)})`} />`;
    return html`${ended && html`<${Booked} b=${ended} when=${`(${say.ago(spanShort(now - ended.until))})`} over />`}
        ${next && html`<${Booked} b=${next} when=${say.from(moment(next.from, now))} />`}
        ${live.at === undefined && d.state !== "lost" && html`<button type="button" class="plain" aria-label=${say.bookThis(`${node} GPU ${indexOf(d)}`)} onClick=${() => book({ devices: [d.uuid] })}>${say.book}</button>`}`;
}

/** Why work is not known: of most GPUs or of none, so a row says it over the number that is not work. @param {Device} d */
const ofWork = (d) => d.note?.startsWith("efficiency is not measured");

/** pid@user (share of the GPU's memory) @param {{ d: Device }} props */
function Processes({ d }) {
    const total = d.metrics.mem_total;
    if (!isFresh(d)) return html`<span class="dim">${deviceSentence(d, hubNow())}</span>`;
    const all = [...d.processes].sort((a, b) => (b.mem ?? 0) - (a.mem ?? 0)).map((p) => {
        const more = [isGone(p) && GONE_WORDS, p.cmd ?? p.name, p.mem !== undefined && bytes(p.mem), p.start && say.since(exactTime(p.start))].filter(Boolean).join(", ");
        return html`<span class="proc" title=${more}>${p.pid}@${p.user ?? "?"}${p.mem !== undefined && total ? ` (${percent(p.mem / total)})` : ""}</span> `;
    });
    return html`${all}${d.service && html`<span>${say.needsService(d.service)}</span> `}${d.note && !ofWork(d) && html`<span class="dim">${d.note}</span>`}`;
}

/** @param {{ d: Device, node: string, ended?: Booking }} props */
function Row({ d, node, ended }) {
    const m = isFresh(d) ? d.metrics : {};
    const full = isFresh(d) ? fullness(d) : undefined;
    return html`<tr class=${d.state}>
        <th scope="row"><a href="/gpu/${encodeURIComponent(d.uuid)}" data-uuid=${d.uuid} aria-label="${node} GPU ${indexOf(d)}: ${stateName(d.state)}"><span class="index">${indexOf(d)}</span> <span class="mark">${stateOf.get(d.state)?.mark}</span></a></th>
        <td class="model" title=${d.name}>${modelName(d)}${size(d)}</td>
        <td class="num ${level("gpu", m.util)}" title=${ofWork(d) ? d.note : ""}>${metric("util", m.util)}</td>
        <td class="num ${level("gpu", full)}" title=${say.of(metric("mem_used", m.mem_used), metric("mem_total", d.metrics.mem_total))}>${full === undefined ? UNKNOWN : percent(full)}</td>
        <td class="num">${metric("mem_util", m.mem_util)}</td>
        <td class="num">${metric("temp", m.temp)}</td>
        <td class="reservation"><${Reservation} d=${d} node=${node} ended=${ended} /></td>
        <td class="procs"><${Processes} d=${d} /></td>
    </tr>`;
}

const COLUMNS = [["GPU", ""], [say.model, "model"], [say.use, "num"], [say.memory, "num"], [say.access, "num"], [say.temp, "num"], [say.reservation, "reservation"], [say.processes, "procs"]];

/** @param {{ n: Node, folded: boolean, fold: (id: string) => void, ended: Map<string, Booking> }} props */
function Panel({ n, folded, fold, ended }) {
    const devices = devicesOf(n);
    const trouble = nodeTrouble(n);
    return html`<section class="node panel ${n.state}" aria-label=${nodeLabel(n, devices)}>
        <div class="panel-top">
            <button type="button" class="icon" aria-expanded=${!folded} aria-label=${folded ? say.unfold(n.name) : say.fold(n.name)} onClick=${() => fold(n.id)}>${folded ? "▸" : "▾"}</button>
            <${Head} n=${n} count=${devices.length} /><${Age} ...${heardOf(n)} />
        </div>
        ${!folded && trouble && html`<p class="trouble">${trouble}</p>`}
        ${!folded && devices.length > 0 && html`<table class="numbers">
            <thead><tr>${COLUMNS.map(([name, kind]) => html`<th scope="col" class=${kind} title=${name === say.access ? say.accessMeans : ""}>${name}</th>`)}</tr></thead>
            <tbody>${devices.map((d) => html`<${Row} key=${d.uuid} d=${d} node=${nodeName(n)} ended=${ended.get(d.uuid)} />`)}</tbody>
        </table>`}
    </section>`;
}

/** Its lines, roughly: on a phone reservation and processes stand below the numbers. @param {Device} d @param {boolean} narrow */
const linesOf = (d, narrow) => (narrow ? 1 + Math.max(1, d.processes.length) : Math.max(1, Math.ceil(d.processes.length / 6)));

/** @param {{ groups: import("./order.js").Group[], now: Map<string, Node>, narrow: boolean }} props */
export function Table({ groups, now, narrow }) {
    const since = useMemo(() => hubNow() - OVER_MS, []);
    const ended = endedOf(useBookings(since, since + 31 * DAY_MS).rows, hubNow());
    const [folded, setFolded] = useState(() => new Set(pref("folded", "").split("\n").filter(Boolean)));
    const all = groups.flatMap((g) => g.ids);
    const open = all.some((id) => !folded.has(id));
    const keep = (/** @type {Iterable<string>} */ ids) => {
        const v = new Set(ids);
        setPref("folded", [...v].join("\n"));
        setFolded(v);
    };
    const fold = (/** @type {string} */ id) => keep(folded.has(id) ? [...folded].filter((one) => one !== id) : [...folded, id]);
    const lines = groups.flatMap((g) => {
        const nodes = g.ids.flatMap((id) => now.get(id) ?? []);
        const panels = nodes.map((n) => ({
            key: n.id,
            height: 44 + (folded.has(n.id) ? 0 : 24 + 24 * devicesOf(n).reduce((sum, d) => sum + linesOf(d, narrow), 0)),
            what: () => html`<${Panel} key=${n.id} n=${n} folded=${folded.has(n.id)} fold=${fold} ended=${ended} />`,
        }));
        return g.title && nodes.length ? [{ key: `group ${g.title}`, height: 36, what: () => heading(g, nodes) }, ...panels] : panels;
    });
    return html`${all.length > 1 && html`<p class="fold-all"><button type="button" class="plain" onClick=${() => keep(open ? [...folded, ...all] : [...folded].filter((id) => !all.includes(id)))}>${open ? say.foldAll : say.unfoldAll}</button></p>`}
        <${Lines} lines=${lines} draw=${(/** @type {any} */ l) => l.what()} />`;
}
