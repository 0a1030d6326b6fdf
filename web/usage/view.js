/* view.js: the view /usage: who used how much, as a table and over time as a chart; each row can be broken down further. */
import { useEffect, useRef, useState } from "preact/hooks";
import { placesOf } from "../book/bookings.js";
import { Choice, chosen } from "../kit/choice.js";
import { Empty } from "../kit/empty.js";
import { COMMA, percent, time } from "../kit/format.js";
import { html } from "../kit/html.js";
import { watch } from "../kit/live.js";
import { pathOf } from "../kit/person.js";
import { href, setQuery, usePlace } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { useWidth } from "../kit/use.js";
import { Stack } from "./stack.js";
import { Tabs } from "./tabs.js";
import { askUsage, BY, COLUMNS, columnsOf, dayLabel, INTO, inWords, LAST, nameOf, nounOf, partlyKnown, partOf, PERIODS, rowId, sinceWhen, usageUrl, workOf, written } from "./usage.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Usage} Usage */
/** @typedef {import("../kit/types").UsageRow} UsageRow */
/** @typedef {import("../kit/types").Problem} Problem */

await sheet("later.css");

const COLOURS = ["line0", "line2", "line3", "line4", "line1", "line5", "line6"]; /* line7: all others */
/** What a chart's bars are, unless told. @type {Record<string, string>} */
const USUAL_PERIOD = { "1d": "hour", "7d": "day", "30d": "day", "90d": "week", "365d": "month" };

/** Both questions side by side: the rows as a whole, and by period. said: what is asked, in words; stays with its answer. @param {string} whole @param {string} parts @param {string} said */
function useUsage(whole, parts, said) {
    const [got, setGot] = useState(/** @type {{ asked: string, said: string, all: Usage, by: Usage } | null} */ (null));
    const [wrong, setWrong] = useState(/** @type {Problem | null} */ (null));
    const asked = `${whole} ${parts}`;
    useEffect(() => {
        /** @param {Usage[]} got */
        function take([all, by]) {
            for (const one of [all, by]) one.rows = one.rows.filter((/** @type {UsageRow} */ r) => r.held || r.wall || r.energy); /* GPUs of others than who is asked for */
            setGot({ asked, said, all, by });
            setWrong(null);
        }
        return askUsage([whole, parts], take, setWrong);
    }, [asked]);
    return { got, wrong, old: got?.asked !== asked };
}

/** The largest, each with its colour; the rest is one. @param {Usage} all @param {Usage} by @param {typeof COLUMNS[number]} of */
function partsOf(all, by, of) {
    const value = (/** @type {UsageRow} */ r) => Number(r[of.name] ?? 0) / of.scale;
    const keys = [...all.rows].sort((a, b) => value(b) - value(a)).filter((r) => value(r) || r.held).map(rowId);
    const names = new Map(all.rows.map((r) => [rowId(r), nameOf(all.by, r.key, r.name)]));
    const moments = [...new Map(by.rows.map((r) => [r.at, r.label ?? ""]))].sort(([a], [b]) => a - b);
    const at = new Map(moments.map(([ms], i) => [ms, i]));
    /** @type {Map<string, { name: string, colour: string, v: number[] }>} */
    const parts = new Map();
    keys.slice(0, COLOURS.length).forEach((key, i) => parts.set(key, { name: names.get(key) ?? "", colour: COLOURS[i], v: moments.map(() => 0) }));
    const rest = { name: say.others(keys.length - COLOURS.length), colour: "line7", v: moments.map(() => 0) };
    for (const r of by.rows) (parts.get(rowId(r)) ?? rest).v[at.get(r.at) ?? 0] += value(r);
    return { moments, parts: keys.length > COLOURS.length ? [...parts.values(), rest] : [...parts.values()], colourOf: (/** @type {UsageRow} */ r) => parts.get(rowId(r))?.colour ?? "line7" };
}

/** @param {{ all: Usage, sort: string, colourOf: (row: UsageRow) => string }} props */
function Table({ all, sort, colourOf }) {
    const columns = columnsOf(all.rows);
    const measured = all.rows.some((r) => workOf(r) !== undefined);
    /** @param {UsageRow} r */
    const shares = (r) => html`<td class="num">${r.held ? percent(Number(r.busy ?? 0) / r.held) : ""}</td>${measured && html`<td class="num">${workOf(r) === undefined ? "" : percent(Number(workOf(r)))}</td>`}`;
    const flipped = sort.startsWith("-");
    const name = sort.replace(/^-/, "");
    const down = flipped === (name === "name"); /* names begin with a, numbers with the largest */
    const value = (/** @type {UsageRow} */ r) => (name === "name" ? nameOf(all.by, r.key, r.name) : Number(r[/** @type {keyof UsageRow} */ (name)] ?? -1));
    const rows = [...all.rows].sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        return (x < y ? 1 : x > y ? -1 : 0) * (down ? 1 : -1);
    });
    /** @param {string} column @param {string} title @param {string} unit @param {string} help */
    const head = (column, title, unit, help) => html`<th scope="col" class=${column === "name" ? "" : "num"} aria-sort=${name === column ? (down ? "descending" : "ascending") : null} title=${help}>
        <button type="button" onClick=${() => setQuery({ sort: name === column && !flipped ? `-${column}` : column === "held" ? undefined : column })}>${title}${name === column ? (down ? " ↓" : " ↑") : ""}</button>${unit && html` <span>${unit}</span>`}
    </th>`;
    const into = INTO[all.by];
    const link = (/** @type {UsageRow} */ r) =>
        into && r.key ? html`<a href=${href("/usage", { ...kept(), by: into, in: `${all.by}:${r.key}` })} title=${say.brokenDown(nounOf(into))}>${nameOf(all.by, r.key, r.name)}</a>` : html`<span class=${r.key ? "" : "nobody"}>${nameOf(all.by, r.key, r.name)}</span>`;
    const total = all.total;
    return html`<div class="scroll"><table class="list">
        <thead><tr>${head("name", BY.find(([v]) => v === all.by)?.[1] ?? all.by, "", "")}
            ${columns.map((c) => head(c.name, c.title, c.name === "cost" ? all.currency ?? "" : c.unit, c.help))}
            <th scope="col" class="num" title=${say.shareBusyMeans}>${say.shareBusy}</th>${measured && html`<th scope="col" class="num" title=${say.workMeans}>${say.work}</th>`}</tr></thead>
        <tbody>${rows.map((r) => html`<tr key=${rowId(r)}>
            <th scope="row"><i class="swatch" style=${{ background: `var(--${colourOf(r)})` }} />${link(r)}</th>
            ${columns.map((c) => html`<td class="num">${written(c, r)}</td>`)}
            ${shares(r)}
        </tr>`)}</tbody>
        ${total && html`<tfoot><tr><th scope="row">${say.inAll}</th>${columns.map((c) => html`<td class="num">${written(c, total)}</td>`)}${shares(total)}</tr></tfoot>`}
    </table></div>`;
}

/** What of the URL stays when one goes further. */
function kept() {
    const q = new URLSearchParams(location.search);
    return Object.fromEntries(["last", "from", "to", "period", "of", "sort"].map((k) => [k, q.get(k) ?? undefined]));
}

/** @param {{ from: string, to: string }} props */
function Dates({ from, to }) {
    const [a, setA] = useState(from);
    const [b, setB] = useState(to);
    const apply = (/** @type {Event} */ e) => {
        e.preventDefault();
        if (a && b && a <= b) setQuery({ from: a, to: b, last: undefined }, true);
    };
    return html`<form class="dates" onSubmit=${apply}>
        <label class="choice">${say.from} <input type="date" name="from" value=${a} onInput=${(/** @type {any} */ e) => setA(e.currentTarget.value)} /></label>
        <label class="choice">${say.to} <input type="date" name="to" value=${b} onInput=${(/** @type {any} */ e) => setB(e.currentTarget.value)} /></label>
        <button>${say.showIt}</button>
        ${from && html`<button type="button" onClick=${() => setQuery({ from: undefined, to: undefined }, true)}>${say.upToNow}</button>`}
    </form>`;
}

export default function UsageView() {
    const { query } = usePlace();
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    const width = useWidth(box);
    useEffect(() => watch({}), []);
    const by = chosen("by", BY, "person");
    const last = chosen("last", LAST, "30d");
    const isDay = (/** @type {string | null} */ v) => (/^\d{4}-\d\d-\d\d$/.test(v ?? "") ? String(v) : "");
    const from = isDay(query.get("from"));
    const to = from && isDay(query.get("to"));
    const period = chosen("period", PERIODS, to ? (from === to ? "hour" : "day") : USUAL_PERIOD[last]);
    const of = chosen("of", COLUMNS.map((c) => [c.name, c.title]), "held");
    const part = partOf(query.get("in") ?? "");
    const range = to ? { from, to, last } : { last };
    const words = to ? (from === to ? say.on(from) : say.fromTo(from, to)) : say.inLast(LAST.find(([v]) => v === last)?.[1] ?? last);
    const { got, wrong, old } = useUsage(usageUrl({ by, part, period: "all", ...range }), usageUrl({ by, part, period, ...range }), words);
    const total = got?.all.total;
    const whose = part ? nameOf(part.by, part.key, part.by === "device" ? placesOf([part.key]) : undefined) : "";
    const column = COLUMNS.find((c) => c.name === of) ?? COLUMNS[0];
    const unit = column.name === "cost" ? got?.all.currency ?? "" : column.unit;
    const drawn = got && partsOf(got.all, got.by, column);
    const nothing = got && !got.all.rows.some((r) => r.held || r.wall);
    const link = (/** @type {string} */ p, format = "csv") => usageUrl({ by, part, period: p, ...range, format });
    return html`<div class="usage" ref=${box}>
        <${Tabs} />
        <div class="lead"><h1>${part && html`<a href=${href("/usage", { ...kept(), by: part.by })}>${say.all}</a> › ${["person", "team"].includes(part.by) ? html`<a href=${pathOf(part.by, part.key)}>${whose}</a>` : whose}: `}
            ${old && part ? "…" : total && !nothing ? say.hoursHeld(inWords(COLUMNS[0], total.held ?? 0), got?.said) : say.usageOf(words)}${total?.held && !(old && part) ? html`<span class="where">${COMMA}${say.ofThemBusy(percent((total.busy ?? 0) / total.held))}${workOf(total) === undefined ? "" : `${COMMA}${say.workDone(percent(Number(workOf(total))))}`}${sinceWhen(got?.all)}</span>` : ""}</h1></div>
        <div class="strip">
            <span class="controls">
                <span class="range" role="group" aria-label=${say.by}>${say.by} ${BY.map(([value, name]) => html`<button type="button" aria-pressed=${value === by} onClick=${() => setQuery({ by: value === "person" ? undefined : value })}>${name}</button>`)}</span>
                ${!to && html`<${Choice} name="last" label=${say.last} options=${LAST} value=${last} otherwise="30d" />`}
                <${Dates} key=${`${from} ${to}`} from=${from} to=${to} />
            </span>
            ${got && !nothing && html`<span class="controls">
                <${Choice} name="of" label=${say.chartOf} options=${columnsOf(got.all.rows).map((c) => [c.name, c.title])} value=${of} otherwise="held" />
                <${Choice} name="period" label=${say.per} options=${PERIODS} value=${period} />
                <span class="dim">CSV: <a download href=${link("all")}>${say.table}</a>, <a download href=${link(period)}>${say.perPeriod(nounOf(period))}</a>; <a data-load href=${link(period, "pdf")}>PDF</a></span>
            </span>`}
        </div>
        ${wrong && html`<p class="error" role="alert">${wrong.detail}</p>`}
        ${!got && !wrong && html`<p class="dim">${say.reading}</p>`}
        ${nothing && html`<${Empty} title=${part ? say.nothingOf(whose) : say.nothingCounted}>
            <p>${say.howCounted}</p>
            <p>${say.otherRange}${part ? "" : html` ${say.whoHoldsUnder(html`<a href="/people">${say.people}</a>`)}`}</p>
        <//>`}
        ${got && drawn && !nothing && html`<div class=${old ? "stale-data" : ""}>
            <${Stack} title=${say.titlePer(column.title, nounOf(period))} labels=${drawn.moments.map(([, label]) => shortLabel(label, period))} parts=${drawn.parts} partial=${partlyKnown(got.by, drawn.moments.map(([at]) => at))} width=${Math.max(0, width - 72)}
                unit=${unit} write=${(/** @type {number} */ v) => inWords(column, v * column.scale, unit)}
                pick=${period === "day" ? (/** @type {number} */ i) => setQuery({ from: drawn.moments[i][1], to: drawn.moments[i][1], last: undefined, period: undefined }, true) : undefined} />
            <ul class="keys-of dim">${drawn.parts.map((p) => html`<li><i class="swatch" style=${{ background: `var(--${p.colour})` }} />${p.name}</li>`)}</ul>
            <${Table} all=${got.all} sort=${query.get("sort") ?? "held"} colourOf=${drawn.colourOf} />
            <p class="dim">${got.all.waiting ? say.stillCounted(got.all.waiting) : ""}${got.all.counted_to ? say.countedTo(time(got.all.counted_to)) : ""}${say.daysOf(got.all.zone ?? say.hubsZone)}${say.splitBy(got.all.split ?? "memory")}${total?.effective !== undefined && Number(total.held) - Number(total.effective_measured) >= 180 ? say.measuredOf : ""}
                ${["team", "project"].includes(by) ? say.inTwo(by) : ""} ${period === "day" ? say.clickBar : ""}</p>
        </div>`}
    </div>`;
}

/** @param {string} label @param {string} period */
function shortLabel(label, period) {
    if (period === "day" || period === "week") return dayLabel(label);
    return period === "hour" ? label.replace(/^\S+[ T]/, "") : label;
}
