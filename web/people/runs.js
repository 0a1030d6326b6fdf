/* runs.js: what somebody ran lately: jobs by their names, and the stretches in which programs of theirs were on GPUs. */
import { useEffect, useState } from "preact/hooks";
import { ask } from "../kit/api.js";
import { bytes, COMMA, exactTime, moment, span, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { filterOf, Person } from "../kit/person.js";
import { href } from "../kit/router.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Job} Job */
/** @typedef {import("../kit/types").Span} Span */
/** end NaN: it is not known; id "": it has no page. @typedef {{ id?: string, what: string, kind: string, who?: string | null, where: string, start: number, end: number, going: boolean, unknown?: boolean, memory: number | null }} Run; unknown: no end was reported, and there is no data now */

const LAST = "-7d";
const MANY = 20;
const TOGETHER_MS = 60000; /* one program that begins on several GPUs of a node within so long is one run */

/** @param {Job} j @returns {Run} */
const ofJob = (j) => ({ id: j.id, what: j.name, kind: j.kind, who: j.person, where: j.gpus.length ? `${j.node ?? UNKNOWN}:${j.gpus.map((i) => i ?? "?").join()}` : j.node ?? UNKNOWN, start: j.start, end: j.state === "unfinished" ? j.data_to ?? j.end ?? NaN : Math.min(j.end ?? Infinity, hubNow()), going: j.state === "running", unknown: j.state === "unfinished", memory: null });

/** @param {Span[]} spans @returns {Run[]} */
function together(spans) {
    /** @type {(Run & { gpus: Set<number | string>, node: string })[]} */
    const runs = [];
    for (const s of [...spans].sort((a, b) => a.first - b.first)) {
        const [what, node, end] = [s.program ?? UNKNOWN, s.node ?? UNKNOWN, s.there ? hubNow() : s.last];
        let run = runs.findLast((r) => r.what === what && r.node === node && s.first - r.start <= TOGETHER_MS);
        if (!run) runs.push((run = { what, kind: "", where: "", node, gpus: new Set(), start: s.first, end, going: s.there, unknown: !s.there && !s.ended, memory: null }));
        run.gpus.add(s.index ?? "?");
        run.end = Math.max(run.end, end);
        run.going ||= s.there;
        run.unknown ||= !s.there && !s.ended;
        run.memory = Math.max(run.memory ?? 0, s.memory_max ?? 0) || null;
        run.where = `${node}:${[...run.gpus].sort().join()}`;
    }
    return runs;
}

/** Jobs, and programs that are part of none. A job has the memory of its programs. @param {Job[]} jobs @param {Span[]} spans */
function runsOf(jobs, spans) {
    const rest = new Set(spans);
    const runs = jobs.map((j) => {
        const parts = spans.filter((s) => j.devices.includes(s.device) && s.first < (j.end ?? Infinity) && s.last > j.start);
        parts.forEach((s) => rest.delete(s));
        const run = ofJob(j);
        run.memory = Math.max(0, ...parts.map((s) => s.memory_max ?? 0)) || null;
        return run;
    });
    return [...runs, ...together([...rest])].sort((a, b) => b.start - a.start);
}

/** Of a person also the programs that were seen; of a team its jobs alone. Newest first; null before the first answer. @param {string} kind @param {string} name */
export function useRuns(kind, name) {
    const [runs, setRuns] = useState(/** @type {{ runs: Run[], more: boolean, wrong?: string } | null} */ (null));
    useEffect(() => {
        const stop = new AbortController();
        const { signal } = stop;
        const jobs = ask(href("/api/v1/jobs", { filter: filterOf(kind, name), from: LAST, limit: "500" }), { signal });
        const seen = kind === "person" ? ask(href("/api/v1/processes", { person: name, from: LAST, limit: "1000" }), { signal }) : { spans: [], more: false };
        Promise.all([jobs, seen]).then(
            ([j, s]) => setRuns({ runs: runsOf(j.jobs.filter((/** @type {Job} */ one) => !one.parent), s.spans), more: j.more || s.more }),
            (e) => e.name !== "AbortError" && setRuns((was) => ({ runs: [], more: false, ...was, wrong: e.detail })),
        );
        return () => stop.abort();
    }, [kind, name]);
    return runs;
}

/** whose: say that of each. @param {{ runs: Run[], more: boolean, wrong?: string, whose: boolean }} props */
export function Runs({ runs, more, wrong, whose }) {
    const now = hubNow();
    const memory = runs.some((r) => r.memory !== null);
    return html`<section class="asking" aria-label=${say.runs}>
        <h2>${say.runsOfWeek}</h2>
        ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
        ${!runs.length && !wrong && html`<p class="dim">${say.noneNoticed}</p>`}
        ${runs.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label=${say.runsOfWeek}><table class="asked">
            <thead><tr><th scope="col">${say.what}</th>${whose && html`<th scope="col">${say.person}</th>`}<th scope="col">${say.gpus}</th><th scope="col">${say.from}</th><th scope="col" class="num">${say.howLong}</th>${memory && html`<th scope="col" class="num">${say.memoryMost}</th>`}</tr></thead>
            <tbody>${runs.slice(0, MANY).map((r) => html`<tr>
                <th scope="row" title=${r.what}>${r.id ? html`<a href=${`/run/${r.id}`}>${r.what}</a>` : r.what}${r.kind && html` <span class="dim">${r.kind}</span>`}</th>
                ${whose && html`<td>${r.who && html`<${Person} name=${r.who} />`}</td>`}
                <td>${r.where}</td>
                <td title=${exactTime(r.start)}>${moment(r.start, now)}</td>
                <td class="num">${[Number.isNaN(r.end) ? "" : span(r.end - r.start), r.unknown ? say.endNotKnown : r.going ? say.stillThere : ""].filter(Boolean).join(COMMA)}</td>
                ${memory && html`<td class="num">${r.memory === null ? "" : bytes(r.memory)}</td>`}
            </tr>`)}</tbody>
        </table></div>`}
        ${runs.length > MANY && html`<p class="dim">${more ? say.manyMoreRuns : say.moreRuns(runs.length - MANY)}</p>`}
    </section>`;
}
