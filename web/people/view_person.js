/* view_person.js: the views /person/ and /team/: what they hold now, what they used, ran and booked, and who can change what is theirs. */
import { useEffect, useRef } from "preact/hooks";
import { useSession } from "../access/session.js";
import { useBookings } from "../book/bookings.js";
import { BookList } from "../book/list.js";
import { Empty, Refused } from "../kit/empty.js";
import { percent, span } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, live, watch } from "../kit/live.js";
import { devicesOf, isFresh, nodeName, usersOf } from "../kit/model.js";
import { filterOf, pathOf, Person } from "../kit/person.js";
import { href, usePlace } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { useLive, useTick, useTitle, useWidth } from "../kit/use.js";
import { Cell } from "../now/cell.js";
import { Details } from "../now/details.js";
import { Stack } from "../usage/stack.js";
import { COLUMNS, columnsOf, dayLabel, inWords, partlyKnown, sinceWhen, unitOf, usageUrl, written } from "../usage/usage.js";
import { Advise } from "./advise.js";
import { useAnswer } from "./asking.js";
import { Runs, useRuns } from "./runs.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Usage} Usage */
/** @typedef {import("../kit/types").UsageRow} UsageRow */

await sheet("later.css");

const LAST = "30d";
const DAY_MS = 86400000;
const NAMED = 8; /* nodes in the sentence; the list below has them all */

/** What they hold, in a sentence. @param {Node[]} nodes @param {string} kind @param {string} name */
function holding(nodes, kind, name) {
    const all = nodes.flatMap((n) => devicesOf(n).map((d) => ({ n, d })));
    const there = all.filter(({ d }) => isFresh(d) && d.processes.length);
    const unheard = all.filter(({ d }) => !isFresh(d)).length;
    const rest = unheard ? say.heldWhenLast(unheard) : "";
    if (!there.length) return rest || say.holdsNone;
    const names = [...new Set(there.map(({ n }) => nodeName(n)))];
    const on = names.length > NAMED + 1 ? say.andMore(names.slice(0, NAMED).join(", "), names.length - NAMED) : names.join(", ");
    const idle = there.filter(({ d }) => d.state === "held").length;
    const since = Math.min(...there.flatMap(({ d }) => usersOf(d)).filter((u) => kind !== "person" || u.user === name).map((u) => u.start));
    return say.holds(there.length, on, idle, Number.isFinite(since) ? span(hubNow() - since) : "", rest);
}

/** Every day from the first to the last that is counted; labels are days of the hub's zone. @param {UsageRow[]} rows */
function daysOf(rows) {
    const by = new Map(rows.map((r) => [r.label ?? "", r]));
    const [first, last] = [rows[0]?.label, rows.at(-1)?.label].map((day) => Date.parse(`${day}T00:00Z`));
    const days = [];
    for (let t = first; t <= last; t += DAY_MS) days.push(new Date(t).toISOString().slice(0, 10));
    return { days, rows: days.map((day) => by.get(day)) };
}

/** What they used, day by day: at work, and held without. @param {{ by: Usage, kind: string, name: string }} props */
function Used({ by, kind, name }) {
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    const width = useWidth(box);
    const mine = by.rows.filter((r) => r.key === name && r.held);
    const { days, rows } = daysOf(mine);
    const hours = (/** @type {"busy" | "idle"} */ of) => rows.map((r) => Number(r?.[of] ?? 0) / 3600);
    const known = partlyKnown(by, mine.map((r) => r.at));
    const into = kind === "person" ? "device" : "person";
    return html`<section aria-label=${say.usage} ref=${box}>
        <h2>${say.hoursADay}</h2>
        <${Stack} title=${say.hoursADay} unit="h" labels=${days.map(dayLabel)} width=${Math.max(0, width - 72)} write=${(/** @type {number} */ v) => inWords(COLUMNS[0], v * 3600)}
            partial=${days.map((_, i) => known[i === 0 ? 0 : i === days.length - 1 ? known.length - 1 : -1] ?? false)}
            parts=${[{ name: say.busy, colour: "busy", v: hours("busy") }, { name: say.heldIdle, colour: "held", v: hours("idle") }]} />
        <ul class="keys-of dim"><li><i class="swatch" style=${{ background: "var(--busy)" }} />${say.busy}</li><li><i class="swatch" style=${{ background: "var(--held)" }} />${say.heldIdle}</li>
            <li><a href=${href("/usage", { by: into, in: `${kind}:${name}` })}>${say.by(into)}</a></li><li>${say.daysOf(by.zone)}</li></ul>
    </section>`;
}

/** The sums as facts. @param {{ all: Usage, row: UsageRow }} props */
function Sums({ all, row }) {
    return html`<dl class="facts" aria-label=${say.usageOf30}>
        <div><dt>${say.days30}${sinceWhen(all)}</dt><dd>${row.held ? say.shareBusy(percent(Number(row.busy ?? 0) / row.held)) : ""}</dd></div>
        ${columnsOf([row]).filter((c) => c.name !== "memory").map((c) => html`<div title=${c.help}><dt>${c.title}</dt><dd>${written(c, row)} ${unitOf(c, Number(row[c.name]), all.currency ?? "")}</dd></div>`)}
    </dl>`;
}

/** @param {{ all: Usage }} props */
function Members({ all }) {
    const [held, idle] = ["held", "idle_long"].map((name) => COLUMNS.find((c) => c.name === name) ?? COLUMNS[0]);
    const rows = all.rows.filter((r) => r.key && r.held).sort((a, b) => Number(b.held) - Number(a.held));
    if (!rows.length) return null;
    return html`<section class="asking" aria-label=${say.members}>
        <h2>${say.itsPeople}</h2>
        <div class="scroll"><table class="asked">
            <thead><tr><th scope="col">${say.person}</th><th scope="col" class="num">${say.heldHours}</th><th scope="col" class="num">${say.busy}</th><th scope="col" class="num">${say.longIdleHours}</th></tr></thead>
            <tbody>${rows.map((r) => html`<tr key=${r.key}><th scope="row"><${Person} name=${r.key} /></th><td class="num">${written(held, r)}</td>
                <td class="num">${percent(Number(r.busy ?? 0) / Number(r.held))}</td><td class="num">${written(idle, r)}</td></tr>`)}</tbody>
        </table></div>
    </section>`;
}

/** Who may change what is theirs, and whether that is the reader. @param {{ kind: string, name: string, open: boolean }} props */
function WhoCan({ kind, name, open }) {
    const { role, person } = useSession();
    const you = role === "admin" ? say.youAdmin : person === name ? say.thatIsYou : person ? say.youAre(person) : role === "none" ? html`<a href=${href("/login", { to: location.pathname })}>${say.logIn}</a>` : "";
    return html`<dl class="facts" aria-label=${say.whoCan}><div><dt>${say.whoCan}</dt><dd>${open ? say.anybodyCan(kind, name) : say.onlyCan(kind, name)} ${you}</dd></div></dl>`;
}

/** @param {{ nodes: Node[] }} props */
function Holds({ nodes }) {
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    let first = true;
    return html`<section aria-label=${say.heldNow} ref=${box}>
        <h2>${say.heldNow}</h2>
        ${nodes.filter((n) => devicesOf(n).length).map((n) => html`<div class="held-on" key=${n.id}>
            <a class="name" href="/node/${encodeURIComponent(n.name)}">${nodeName(n)}</a>
            <div class="cells">${devicesOf(n).map((d) => {
                const one = html`<${Cell} key=${d.uuid} d=${d} node=${nodeName(n)} first=${first} />`;
                first = false;
                return one;
            })}</div>
        </div>`)}
        ${!nodes.length && html`<p class="dim">${say.nothing} <a href="/">${say.whichGpusFree}</a></p>`}
        <${Details} of=${box} />
    </section>`;
}

/** @param {{ arg: string }} props */
export default function PersonView({ arg }) {
    const { path } = usePlace();
    const kind = path.startsWith("/team/") ? "team" : "person";
    const name = decodeURIComponent(arg);
    return html`<${One} key=${`${kind} ${name}`} kind=${kind} name=${name} />`;
}

/** @param {{ kind: string, name: string }} props */
function One({ kind, name }) {
    const { nodes, status, filter, filterProblem } = useLive();
    const wanted = filterOf(kind, name);
    useTick();
    useTitle(name);
    useEffect(() => watch({ filter: wanted }), [wanted]);
    const ask = (/** @type {string} */ by, /** @type {string} */ period) => usageUrl({ by, last: LAST, period, part: { by: kind, key: name } });
    const { got: all, wrong: noSums } = useAnswer(ask(kind === "team" ? "person" : "team", "all"));
    const { got: by, wrong: noDays } = useAnswer(ask(kind, "day"));
    const today = Math.floor(hubNow() / DAY_MS) * DAY_MS;
    const known = useBookings(today, today + 92 * DAY_MS);
    const there = filter === wanted ? nodes : [];
    const runs = useRuns(kind, name);
    if (!nodes.length && status === "lost" && live.problem) return html`<${Refused} />`;
    if (!all || !by || !runs || filter !== wanted) {
        const wrong = noSums ?? noDays ?? (filterProblem?.filter === wanted ? filterProblem : null);
        return html`<div class="one"><div class="lead"><h1>${name}</h1></div>${wrong && html`<p class="error" role="alert">${wrong.detail}</p>`}</div>`;
    }
    const people = kind === "team" ? all.rows.filter((/** @type {UsageRow} */ r) => r.held).map((/** @type {UsageRow} */ r) => r.key) : [name];
    const booked = known.rows.filter((b) => people.includes(b.person) && b.state !== "over");
    const used = by.rows.some((/** @type {UsageRow} */ r) => r.key === name && r.held);
    if (!there.length && !used && !runs.runs.length && !runs.wrong && !booked.length) {
        return html`<${Empty} title=${say.nothingKnown(kind, name)}><p>${say.nothingUsed} <a href="/people">${say.whoDoes}</a></p><//>`;
    }
    const teams = kind === "team" ? [] : all.rows.filter((/** @type {UsageRow} */ r) => r.key && r.held).map((/** @type {UsageRow} */ r) => r.key);
    return html`<div class="one">
        <div class="lead">
            <h1>${name} <span class="dim">${kind === "team" ? say.team : teams.map((/** @type {string} */ t, /** @type {number} */ i) => html`${i > 0 && ", "}<a href=${pathOf("team", t)}>${t}</a>`)}</span></h1>
            <p class="sentence">${holding(there, kind, name)}</p>
            <p><a href=${href("/", { filter: wanted })}>${say.onNow}</a> · <a href=${href("/history", { filter: wanted })}>${say.lastDay}</a></p>
        </div>
        <div class="sides">
            <aside>
                ${used && html`<${Sums} all=${all} row=${all.total} />`}
                <${WhoCan} kind=${kind} name=${name} open=${known.auth === "open"} />
            </aside>
            <div class="main">
                <${Holds} nodes=${there} />
                <${Advise} kind=${kind} name=${name} />
                ${used && html`<${Used} by=${by} kind=${kind} name=${name} />`}
                ${kind === "team" && html`<${Members} all=${all} />`}
                ${booked.length > 0 ? html`<${BookList} rows=${booked} title=${say.booked} />` : html`<section aria-label=${say.bookings}><h2>${say.booked}</h2><p class="dim">${say.nothing} <a href="/bookings">${say.allBookings}</a></p></section>`}
                ${(kind === "person" || runs.runs.length > 0 || runs.wrong) && html`<${Runs} ...${runs} whose=${kind === "team"} />`}
            </div>
        </div>
    </div>`;
}
