/* view.js: the view /alerts: what is wrong now, the worst first, with what to do; silences; who is told; on request what was wrong within the week. */
import { useEffect, useState } from "preact/hooks";
import { useSession } from "../access/session.js";
import { Empty } from "../kit/empty.js";
import { count, exactTime, moment, span } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, watch } from "../kit/live.js";
import { Person } from "../kit/person.js";
import { href, place, setQuery, usePlace } from "../kit/router.js";
import { Said } from "../kit/said.js";
import { sheet } from "../kit/sheet.js";
import { useTick } from "../kit/use.js";
import { alerts, endSilence, tryChannel, useAlerts, usePast } from "./alerts.js";
import { SilenceForm } from "./silence.js";

/** @typedef {import("../kit/types").Alert} Alert */
/** @typedef {import("../kit/types").Channel} Channel */
/** @typedef {import("../kit/types").Silence} Silence */
/** @typedef {import("../kit/types").Problem} Problem */

await sheet("later.css");

const MANY = 300;
/** The worst first: its word, mark, and what several are called. @type {[Alert["severity"], string, string][]} */
const SEVERITIES = [["critical", "‼\uFE0E", "critical"], ["warning", "!", "warning"], ["info", "i", "info"]];
const rank = (/** @type {Alert} */ a) => SEVERITIES.findIndex(([word]) => word === a.severity);

/** "1 critical, 2 warnings" @param {Alert[]} rows */
function inWords(rows) {
    return SEVERITIES.map(([word, , noun]) => [rows.filter((a) => a.severity === word).length, noun])
        .filter(([n]) => n)
        .map(([n, noun]) => (noun === "warning" ? count(Number(n), noun) : `${n} ${noun}`))
        .join(", ");
}

/** @param {{ a: Alert }} props */
function Where({ a }) {
    if (!a.place) return html`<span>the hub</span>`;
    if (a.device) return html`<a href="/gpu/${encodeURIComponent(a.device)}">${a.place}</a>`;
    return a.node_id ? html`<a href="/node/${encodeURIComponent(a.node_id)}">${a.place}</a>` : html`<${Said} text=${a.place} />`;
}

/** hush: opens the form, where one may. @param {{ a: Alert, hush: ((a: Alert) => void) | null, now: number }} props */
function Row({ a, hush, now }) {
    const over = a.state === "resolved";
    const lasted = span((a.resolved ?? now) - a.since);
    const people = a.person?.split(", ") ?? [];
    const unsaid = people.filter((name) => !a.text.includes(name));
    return html`<li class="alert ${a.severity} ${a.silenced || over ? "quiet" : ""}">
        <span class="severity"><span class="mark" aria-hidden="true">${SEVERITIES[rank(a)]?.[1]}</span> ${a.severity}</span>
        <span class="alert-at"><${Where} a=${a} /></span>
        <time class="dim" title="since ${exactTime(a.since)}${a.resolved ? `, until ${exactTime(a.resolved)}` : ""}">${a.notice ? moment(a.since, now) : over ? `${moment(a.resolved ?? 0, now)}, after ${lasted}` : `for ${lasted}`}</time>
        <div class="alert-text">
            <p><${Said} text=${a.text} people=${people} here=${a.place} /></p>
            ${a.advice && !over && html`<p class="dim">→ ${a.advice}</p>`}
            <p class="dim">${a.rule}${unsaid.map((name, i) => html`${i ? ", " : " · about "}<${Person} name=${name} />`)}${a.silenced && html` · silenced by ${a.silenced.by} until <span title=${exactTime(a.silenced.until)}>${moment(a.silenced.until, now)}</span>: ${a.silenced.reason}`}</p>
        </div>
        ${hush && !over && !a.silenced && html`<button type="button" aria-label="silence ${a.rule}${a.place && ` of ${a.place}`}" onClick=${() => hush(a)}>silence…</button>`}
    </li>`;
}

/** hushes: of which one may. @param {{ label: string, rows: Alert[], hush: ((a: Alert) => void) | null, hushes?: (a: Alert) => boolean, now: number }} props */
function List({ label, rows, hush, hushes, now }) {
    return html`<ol class="alert-list" aria-label=${label}>${rows.slice(0, MANY).map((a) => html`<${Row} key=${a.id} a=${a} hush=${hush && hushes?.(a) ? hush : null} now=${now} />`)}</ol>
        ${rows.length > MANY && html`<p class="dim">and ${rows.length - MANY} more</p>`}`;
}

/** What it fits, in words. @param {Silence} s */
const fits = (s) => [s.rule && s.rule !== "*" ? s.rule : "every rule", s.node && `of ${s.node}`, s.person && `about ${s.person}`].filter(Boolean).join(" ");

/** @param {{ rows: Silence[], may: boolean, ends: (s: Silence) => boolean, now: number, add: () => void }} props ends: may we end it? */
function Silences({ rows, may, ends, now, add }) {
    const [wrong, setWrong] = useState("");
    const end = (/** @type {number} */ id) => endSilence(id).then(() => setWrong(""), (/** @type {Problem} */ e) => setWrong(e.detail));
    return html`<section class="alert-part" aria-label="Silences">
        <h2>silences</h2>
        ${!rows.length && html`<p class="dim">none</p>`}
        ${rows.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Silences and their ends"><table class="asked silences">
            <thead><tr><th scope="col">of</th><th scope="col">until</th><th scope="col" class="num">still</th><th scope="col">by</th><th scope="col">why</th>${may && html`<td></td>`}</tr></thead>
            <tbody>${rows.map((s) => html`<tr key=${s.id}>
                <th scope="row">${fits(s)}</th>
                <td title=${exactTime(s.until)}>${moment(s.until, now)}</td>
                <td class="num">${span(s.until - now)}</td>
                <td>${s.by}</td>
                <td class="why">${s.reason}</td>
                ${may && html`<td>${ends(s) && html`<button type="button" aria-label="end the silence of ${fits(s)}" onClick=${() => end(s.id)}>end</button>`}</td>`}
            </tr>`)}</tbody>
        </table></div>`}
        ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
        ${may
            ? html`<p><button type="button" onClick=${add}>silence something else…</button></p>`
            : html`<p class="dim">Members may silence alerts: <a href=${href("/login", { to: place.path + location.search })}>log in</a> first.</p>`}
    </section>`;
}

/** Who is told, and whether that works. @param {{ rows: Channel[], may: boolean, now: number }} props */
function Channels({ rows, may, now }) {
    const [said, setSaid] = useState(/** @type {Record<string, string>} */ ({}));
    const tell = (/** @type {string} */ name, /** @type {string} */ words) => setSaid((was) => ({ ...was, [name]: words }));
    const test = (/** @type {string} */ name) => {
        tell(name, "is being sent…");
        tryChannel(name).then((words) => tell(name, words), (/** @type {Problem} */ e) => tell(name, e.detail));
    };
    return html`<section class="alert-part" aria-label="Channels">
        <h2>who is told</h2>
        ${!rows.length && html`<p class="dim">nobody: muster.yaml has no channels</p>`}
        ${rows.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Channels and how they do"><table class="asked channels">
            <thead><tr><th scope="col">channel</th><th scope="col">type</th><th scope="col">state</th><th scope="col" class="num">waiting</th>${may && html`<td></td>`}</tr></thead>
            <tbody>${rows.map((c) => html`<tr key=${c.name}>
                <th scope="row">${c.name}</th>
                <td>${c.type}</td>
                <td class="why">${c.ok ? "works" : html`<span class="error"><span aria-hidden="true">✗</span> fails</span>${c.since && html` for <span title=${exactTime(c.since)}>${span(now - c.since)}</span>`}: ${c.error}`}</td>
                <td class="num">${c.waiting}</td>
                ${may && html`<td class="why"><button type="button" aria-label="send a test message through ${c.name}" onClick=${() => test(c.name)}>test</button> <span class="dim" role="status">${said[c.name]}</span></td>`}
            </tr>`)}</tbody>
        </table></div>`}
    </section>`;
}

export default function AlertsView() {
    const { query } = usePlace();
    const { role, person, known: named } = useSession();
    const { known, rows, silences, channels, problem } = useAlerts(true);
    const [draft, setDraft] = useState(/** @type {{ rule: string, node: string } | null} */ (null));
    const [said, setSaid] = useState("");
    const all = query.has("all");
    useTick();
    usePast(all);
    useEffect(() => watch({}), []); /* of now, whatever time was looked at before */
    if (!known) return problem && html`<${Empty} title="Alerts cannot be shown"><p>${problem.detail}</p><//>`;

    const now = hubNow();
    const may = role === "member" || role === "admin";
    const firing = rows.filter((a) => a.state === "firing").sort((a, b) => rank(a) - rank(b));
    const loud = firing.filter((a) => !a.silenced);
    const hushed = firing.filter((a) => a.silenced);
    const over = rows.filter((a) => a.state === "resolved");
    const standing = silences.filter((s) => s.until > now).sort((a, b) => a.until - b.until);
    const admin = role === "admin";
    const ours = (/** @type {Alert} */ a) => !!person && !!a.person?.split(", ").includes(person);
    const hush = may ? (/** @type {Alert} */ a) => setDraft({ rule: a.rule, node: a.place }) : null;
    const hushes = (/** @type {Alert} */ a) => admin || a.severity !== "critical" || ours(a);
    const ends = (/** @type {Silence} */ s) => admin || (!!person && (s.by === person || s.owner === person));
    const close = (done = false) => {
        setDraft(null);
        setSaid(done ? "silenced" : "");
    };
    return html`<div class="alerts">
        <div class="lead">
            <h1>${loud.length ? inWords(loud) : hushed.length ? "nothing is wrong that nobody silenced" : "nothing is wrong"}${loud.length > 0 && hushed.length > 0 && html` <span class="dim where">and ${hushed.length} silenced</span>`}</h1>
            <p class="dim" role="status">${said}</p>
        </div>
        ${problem && html`<p class="error" role="alert">${problem.detail}; this is ${span(now - alerts.at)} old</p>`}
        ${loud.length > 0 && html`<${List} label="What is wrong" rows=${loud} hush=${hush} hushes=${hushes} now=${now} />`}
        ${hushed.length > 0 && html`<section class="alert-part"><h2>silenced</h2><${List} label="Silenced" rows=${hushed} hush=${null} now=${now} /></section>`}
        ${named && html`<${Silences} rows=${standing} may=${may} ends=${ends} now=${now} add=${() => setDraft({ rule: "", node: "" })} />`}
        <${Channels} rows=${channels} may=${role === "admin"} now=${now} />
        <section class="alert-part" aria-label="Resolved">
            <h2>resolved this week, and what happened</h2>
            <p><button type="button" aria-pressed=${all} onClick=${() => setQuery({ all: all ? undefined : "yes" })}>${all ? "hide" : "show"}</button></p>
            ${all && (over.length ? html`<${List} label="Resolved this week" rows=${over} hush=${null} now=${now} />` : html`<p class="dim">none</p>`)}
        </section>
        ${draft && html`<${SilenceForm} key=${`${draft.rule} ${draft.node}`} ...${draft} close=${close} />`}
    </div>`;
}
