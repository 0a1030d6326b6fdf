/* view.js: the view /reports: the reports that go out by themselves and the companies' report, each to look at and to download. */
import { useEffect, useState } from "preact/hooks";
import { ask, askText } from "../kit/api.js";
import { Choice, chosen } from "../kit/choice.js";
import { Empty } from "../kit/empty.js";
import { exactTime, moment, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, watch } from "../kit/live.js";
import { href, usePlace } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { Tabs } from "../usage/tabs.js";
import { figure } from "../usage/usage.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Bulletin} Bulletin */
/** @typedef {import("../kit/types").Problem} Problem */

await sheet("later.css");

const EXAMPLE = "daily: {every: day, channel: ops}";
const COMPANIES = "companies"; /* in the URL, beside the reports' own names */
/** @type {[string, string][]} */
const PERIODS = [["daily", say.day], ["weekly", say.week], ["monthly", say.month], ["overall", say.allTime], ["summary", say.project]];

/** The answer to a question, in a form of its own; null until it comes. @template T @param {string} url @param {(url: string, init: RequestInit) => Promise<T>} how @returns {{ got: T | null, wrong: Problem | null }} */
function useOnce(url, how) {
    const [state, setState] = useState(/** @type {{ url: string, got: T | null, wrong: Problem | null }} */ ({ url: "", got: null, wrong: null }));
    useEffect(() => {
        const stop = new AbortController();
        how(url, { signal: stop.signal }).then((got) => setState({ url, got, wrong: null }), (wrong) => wrong.name !== "AbortError" && setState({ url, got: null, wrong }));
        return () => stop.abort();
    }, [url]);
    return state.url === url ? state : { got: null, wrong: null };
}

/** What it looks like now; pictures come beside the words. @param {{ url: string, picture: string, name: string }} props */
function Preview({ url, picture, name }) {
    const { got, wrong } = useOnce(url, askText);
    const [noPicture, setNoPicture] = useState("");
    return html`${wrong && html`<p class="error" role="alert">${wrong.detail}</p>`}
        ${!got && !wrong && html`<p class="dim">${say.reading}</p>`}
        ${got && html`<div class="report-look"><pre class="report-text" tabindex="0" role="region" aria-label=${say.asNow(name)}>${got}</pre>
            ${noPicture !== picture && html`<img class="report-picture" src=${picture} alt=${say.chartOf(name)} onError=${() => setNoPicture(picture)} />`}</div>`}`;
}

/** The hub's rows under the hub's words. @param {{ url: string }} props */
function CompanyRows({ url }) {
    const { got, wrong } = useOnce(url, ask);
    if (wrong) return html`<p class="error" role="alert">${wrong.detail}</p>`;
    if (!got) return html`<p class="dim">${say.reading}</p>`;
    /** @type {[string, string][]} */
    const columns = Object.entries(got.headings);
    const isNumber = (/** @type {string} */ key) => got.rows.some((/** @type {any} */ r) => typeof r[key] === "number");
    const digits = (/** @type {string} */ key) => (got.rows.every((/** @type {any} */ r) => r[key] === null || Number.isInteger(r[key])) ? 0 : 1);
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${say.companyHours}><table class="list company-rows">
        <thead><tr>${columns.map(([key, words]) => html`<th scope="col" class=${isNumber(key) ? "num" : ""}>${words}</th>`)}</tr></thead>
        <tbody>${got.rows.map((/** @type {any} */ r) => html`<tr>${columns.map(([key]) => html`<td class=${isNumber(key) ? "num" : ""}>${typeof r[key] === "number" ? figure(r[key], digits(key)) : r[key] ?? UNKNOWN}</td>`)}</tr>`)}</tbody>
    </table></div>
    <p class="dim">${say.fromTo(got.from, got.to)}, ${say.zone(got.zone)}${got.notes.map((/** @type {string} */ n) => html` · ${n}`)}</p>`;
}

/** @param {{ links: [string, string][] }} props */
const Downloads = ({ links }) => html`<span class="exports">${links.map(([words, url]) => html`<a download href=${url}>${words}</a>`)}</span>`;

/** @param {Bulletin} r */
const whenWords = (r) => (r.channels.length ? say.every(r.every, r.at, r.zone) : say.onRequest(r.every, r.zone));

/** @param {{ r: Bulletin, shown: boolean }} props */
function Row({ r, shown }) {
    const now = hubNow();
    const url = `/api/v1/reports/${encodeURIComponent(r.name)}`;
    const only = [r.company, r.team, r.filter].flatMap((one) => (one ? [say.of(one)] : [])).join(", ");
    return html`<tr>
        <th scope="row"><a href=${href("/reports", { show: r.name })} aria-current=${shown ? "true" : null}>${r.name}</a></th>
        <td>${r.what}${only && ` ${only}`}</td>
        <td>${whenWords(r)}</td>
        <td>${r.channels.join(", ") || html`<span class="dim">${say.nobody}</span>`}</td>
        <td title=${r.next ? exactTime(r.next) : ""}>${r.next ? moment(r.next, now) : html`<span class="dim">${say.noChannel}</span>`}</td>
        <td title=${r.sent ? exactTime(r.sent) : ""}>${r.error ? html`<span class="error">${r.error}</span>` : r.sent ? moment(r.sent, now) : html`<span class="dim">${r.channels.length ? say.notYet : say.never}</span>`}</td>
        <td><${Downloads} links=${[["HTML", `${url}?format=html`], [say.text, `${url}?format=text`], ["PNG", `${url}?format=png`]]} /></td>
    </tr>`;
}

/** @param {{ shown: boolean, period: string }} props */
function Companies({ shown, period }) {
    const url = (/** @type {string} */ format) => href("/api/v1/report", { period, format, partial: period === "monthly" ? "true" : undefined });
    return html`<section class="asking" aria-label=${say.companies}>
        <h2>${shown ? say.companies : html`<a href=${href("/reports", { show: COMPANIES })}>${say.companies}</a>`}</h2>
        <p class="dim">${say.companiesMean}</p>
        ${shown && html`<div class="controls"><${Choice} name="period" label=${say.by} options=${PERIODS} value=${period} otherwise="weekly" />
            <${Downloads} links=${[["HTML", url("html")], ["PDF", url("pdf")], ["CSV", url("csv")], ["JSON", url("json")]]} /></div>
            <${CompanyRows} key=${period} url=${url("json")} />`}
    </section>`;
}

export default function ReportsView() {
    const { query } = usePlace();
    useEffect(() => watch({}), []);
    const { got, wrong } = useOnce("/api/v1/reports", ask);
    const rows = /** @type {Bulletin[]} */ (got?.rows ?? []);
    const show = query.get("show") ?? rows[0]?.name ?? COMPANIES;
    const one = rows.find((r) => r.name === show);
    const period = chosen("period", PERIODS, "weekly");
    const url = one ? `/api/v1/reports/${encodeURIComponent(one.name)}` : "";
    return html`<div class="usage reports">
        <${Tabs} />
        <div class="lead"><h1>${!got ? say.reports : rows.length ? say.many(rows.length) : say.none}</h1></div>
        ${wrong && html`<p class="error" role="alert">${wrong.detail}</p>`}
        ${got && !rows.length && html`<${Empty} title=${say.noneSetUp}><p>${say.section(html`<code>reports</code>`)} <code>${EXAMPLE}</code></p><//>`}
        ${rows.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label=${say.reports}><table class="list">
            <thead><tr><th scope="col">${say.report}</th><th scope="col">${say.what}</th><th scope="col">${say.when}</th><th scope="col">${say.to}</th><th scope="col">${say.next}</th><th scope="col">${say.last}</th><th scope="col">${say.download}</th></tr></thead>
            <tbody>${rows.map((r) => html`<${Row} key=${r.name} r=${r} shown=${r === one} />`)}</tbody>
        </table></div>`}
        ${one && html`<section class="asking" aria-label=${say.preview}><h2>${say.asWouldBe(one.name)}</h2>
            <${Preview} key=${one.name} url="${url}?format=text" picture="${url}?format=png" name=${one.name} /></section>`}
        ${got?.companies === 0 && show === COMPANIES && rows.length > 0 && html`<p class="dim">${say.noCompany}</p>`}
        ${got?.companies > 0 && html`<${Companies} shown=${show === COMPANIES} period=${period} />`}
    </div>`;
}
