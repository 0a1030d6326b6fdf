/* view.js: the view /alerts: what is wrong now, the worst first, with what to do; silences; who is told; on request what was wrong within the week. */
import { useEffect, useState } from "preact/hooks";
import { useSession } from "../access/session.js";
import { Empty } from "../kit/empty.js";
import { COMMA, exactTime, moment, span } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, watch } from "../kit/live.js";
import { Person } from "../kit/person.js";
import { href, place, setQuery, usePlace } from "../kit/router.js";
import { Said } from "../kit/said.js";
import { sheet } from "../kit/sheet.js";
import { useTick } from "../kit/use.js";
import { alerts, endSilence, tryChannel, useAlerts, usePast } from "./alerts.js";
import { SilenceForm } from "./silence.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Alert} Alert */
/** @typedef {import("../kit/types").Channel} Channel */
/** @typedef {import("../kit/types").Silence} Silence */
/** @typedef {import("../kit/types").Problem} Problem */

await sheet("later.css");

const MANY = 300;
/** The worst first: its word, mark, and name. @type {[Alert["severity"], string, string][]} */
const SEVERITIES = [["critical", "‼\uFE0E", say.critical], ["warning", "!", say.warning], ["info", "i", say.info]];
const rank = (/** @type {Alert} */ a) => SEVERITIES.findIndex(([word]) => word === a.severity);

/** "1 critical, 2 warnings" @param {Alert[]} rows */
function inWords(rows) {
    return SEVERITIES.flatMap(([word]) => {
        const n = rows.filter((a) => a.severity === word).length;
        return n ? [say.some(n, word)] : [];
    }).join(COMMA);
}

/** @param {{ a: Alert }} props */
function Where({ a }) {
    if (!a.place) return html`<span>${say.theHub}</span>`;
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
        <span class="severity"><span class="mark" aria-hidden="true">${SEVERITIES[rank(a)]?.[1]}</span> ${SEVERITIES[rank(a)]?.[2] ?? a.severity}</span>
        <span class="alert-at"><${Where} a=${a} /></span>
        <time class="dim" title=${say.sinceUntil(exactTime(a.since), a.resolved && exactTime(a.resolved))}>${a.notice ? moment(a.since, now) : over ? say.after(moment(a.resolved ?? 0, now), lasted) : say.lasting(lasted)}</time>
        <div class="alert-text">
            <p><${Said} text=${a.text} people=${people} here=${a.place} /></p>
            ${a.advice && !over && html`<p class="dim">→ ${a.advice}</p>`}
            <p class="dim">${a.rule}${unsaid.map((name, i) => html`${i ? COMMA : ` · ${say.about} `}<${Person} name=${name} />`)}${a.silenced && html` · ${say.silencedBy(a.silenced.by, html`<span title=${exactTime(a.silenced.until)}>${moment(a.silenced.until, now)}</span>`, a.silenced.reason)}`}</p>
        </div>
        ${hush && !over && !a.silenced && html`<button type="button" aria-label=${say.silenceThis(a.rule, a.place)} onClick=${() => hush(a)}>${say.silenceButton}</button>`}
    </li>`;
}

/** hushes: of which one may. @param {{ label: string, rows: Alert[], hush: ((a: Alert) => void) | null, hushes?: (a: Alert) => boolean, now: number }} props */
function List({ label, rows, hush, hushes, now }) {
    return html`<ol class="alert-list" aria-label=${label}>${rows.slice(0, MANY).map((a) => html`<${Row} key=${a.id} a=${a} hush=${hush && hushes?.(a) ? hush : null} now=${now} />`)}</ol>
        ${rows.length > MANY && html`<p class="dim">${say.more(rows.length - MANY)}</p>`}`;
}

/** What it fits, in words. @param {Silence} s */
const fits = (s) => say.fits(s.rule && s.rule !== "*" ? s.rule : say.everyRule, s.node, s.person);

/** @param {{ rows: Silence[], may: boolean, ends: (s: Silence) => boolean, now: number, add: () => void }} props ends: may we end it? */
function Silences({ rows, may, ends, now, add }) {
    const [wrong, setWrong] = useState("");
    const end = (/** @type {number} */ id) => endSilence(id).then(() => setWrong(""), (/** @type {Problem} */ e) => setWrong(e.detail));
    return html`<section class="alert-part" aria-label=${say.silences}>
        <h2>${say.silences}</h2>
        ${!rows.length && html`<p class="dim">${say.none}</p>`}
        ${rows.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label=${say.silencesTable}><table class="asked silences">
            <thead><tr><th scope="col">${say.silenceOf}</th><th scope="col">${say.until}</th><th scope="col" class="num">${say.still}</th><th scope="col">${say.by}</th><th scope="col">${say.why}</th>${may && html`<td></td>`}</tr></thead>
            <tbody>${rows.map((s) => html`<tr key=${s.id}>
                <th scope="row">${fits(s)}</th>
                <td title=${exactTime(s.until)}>${moment(s.until, now)}</td>
                <td class="num">${span(s.until - now)}</td>
                <td>${s.by}</td>
                <td class="why">${s.reason}</td>
                ${may && html`<td>${ends(s) && html`<button type="button" aria-label=${say.endSilence(fits(s))} onClick=${() => end(s.id)}>${say.end}</button>`}</td>`}
            </tr>`)}</tbody>
        </table></div>`}
        ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
        ${may
            ? html`<p><button type="button" onClick=${add}>${say.silenceElse}</button></p>`
            : html`<p class="dim">${say.membersMay(html`<a href=${href("/login", { to: place.path + location.search })}>${say.logIn}</a>`)}</p>`}
    </section>`;
}

/** Who is told, and whether that works. @param {{ rows: Channel[], may: boolean, now: number }} props */
function Channels({ rows, may, now }) {
    const [said, setSaid] = useState(/** @type {Record<string, string>} */ ({}));
    const tell = (/** @type {string} */ name, /** @type {string} */ words) => setSaid((was) => ({ ...was, [name]: words }));
    const test = (/** @type {string} */ name) => {
        tell(name, say.sending);
        tryChannel(name).then((words) => tell(name, words), (/** @type {Problem} */ e) => tell(name, e.detail));
    };
    return html`<section class="alert-part" aria-label=${say.channels}>
        <h2>${say.whoIsTold}</h2>
        ${!rows.length && html`<p class="dim">${say.noChannels}</p>`}
        ${rows.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label=${say.channelsTable}><table class="asked channels">
            <thead><tr><th scope="col">${say.channel}</th><th scope="col">${say.type}</th><th scope="col">${say.state}</th><th scope="col" class="num">${say.waiting}</th>${may && html`<td></td>`}</tr></thead>
            <tbody>${rows.map((c) => html`<tr key=${c.name}>
                <th scope="row">${c.name}</th>
                <td>${c.type}</td>
                <td class="why">${c.ok ? say.works : html`<span class="error"><span aria-hidden="true">✗</span> ${say.fails}</span>${c.since && say.failsFor(html`<span title=${exactTime(c.since)}>${span(now - c.since)}</span>`)}: ${c.error}`}</td>
                <td class="num">${c.waiting}</td>
                ${may && html`<td class="why"><button type="button" aria-label=${say.testThrough(c.name)} onClick=${() => test(c.name)}>${say.test}</button> <span class="dim" role="status">${said[c.name]}</span></td>`}
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
    if (!known) return problem && html`<${Empty} title=${say.cannotShow}><p>${problem.detail}</p><//>`;

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
        setSaid(done ? say.silenced : "");
    };
    return html`<div class="alerts">
        <div class="lead">
            <h1>${loud.length ? inWords(loud) : hushed.length ? say.nothingLoud : say.nothingWrong}${loud.length > 0 && hushed.length > 0 && html` <span class="dim where">${say.andSilenced(hushed.length)}</span>`}</h1>
            <p class="dim" role="status">${said}</p>
        </div>
        ${problem && html`<p class="error" role="alert">${problem.detail}; ${say.thisOld(span(now - alerts.at))}</p>`}
        ${loud.length > 0 && html`<${List} label=${say.whatIsWrong} rows=${loud} hush=${hush} hushes=${hushes} now=${now} />`}
        ${hushed.length > 0 && html`<section class="alert-part"><h2>${say.silenced}</h2><${List} label=${say.silencedList} rows=${hushed} hush=${null} now=${now} /></section>`}
        ${named && html`<${Silences} rows=${standing} may=${may} ends=${ends} now=${now} add=${() => setDraft({ rule: "", node: "" })} />`}
        <${Channels} rows=${channels} may=${role === "admin"} now=${now} />
        <section class="alert-part" aria-label=${say.resolved}>
            <h2>${say.resolvedWeek}</h2>
            <p><button type="button" aria-pressed=${all} onClick=${() => setQuery({ all: all ? undefined : "yes" })}>${all ? say.hide : say.show}</button></p>
            ${all && (over.length ? html`<${List} label=${say.resolvedThisWeek} rows=${over} hush=${null} now=${now} />` : html`<p class="dim">${say.none}</p>`)}
        </section>
        ${draft && html`<${SilenceForm} key=${`${draft.rule} ${draft.node}`} ...${draft} close=${close} />`}
    </div>`;
}
