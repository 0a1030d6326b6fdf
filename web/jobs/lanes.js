/* lanes.js: jobs that were on a GPU or a node (Dask, Slurm, W&B, muster record): a lane for each under the charts and on their time axis; the parts of a job, as dags, below its bar. */
import { ask } from "../kit/api.js";
import { Cross } from "../kit/cross.js";
import { exactTime, span } from "../kit/format.js";
import { html } from "../kit/html.js";
import { Person } from "../kit/person.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Job} Job */

const LANES = 12; /* the newest; the rest is a number */

/** Jobs that were on a device, or on a node. Throws a Problem. @param {{ node?: string, device?: string, from: number, to: number, signal?: AbortSignal }} q @returns {Promise<{ jobs: Job[], more: boolean }>} */
export function jobsOn({ node, device, from, to, signal }) {
    const q = new URLSearchParams({ from: `${Math.floor(from)}`, to: `${Math.ceil(to)}`, limit: "200" });
    if (device) q.set("device", device);
    else if (node) q.set("node", node);
    return ask(`/api/v1/jobs?${q}`, { signal });
}

/** @param {Job} j */
const words = (j) =>
    say.job(`${j.name} (${j.kind}${j.person ? `, ${j.person}` : ""})`, exactTime(j.start), j.state === "running" ? say.stillRunning : j.state === "ended" && j.end ? span(j.end - j.start) : say.noEnd);

/** @param {Job} j @param {number} from @param {number} to */
function Bar(j, from, to) {
    const share = (/** @type {number} */ t) => (100 * (Math.min(Math.max(t, from), to) - from)) / (to - from);
    const left = share(j.start);
    const end = j.state === "unfinished" ? j.data_to ?? j.start : j.end ?? to; /* without data nothing is known */
    return html`<i style=${{ left: `${left}%`, width: `${Math.max(share(end) - left, 0.15)}%` }} title=${words(j)} />`;
}

/** Nothing where there were none: most GPUs have no jobs. @param {{ jobs: Job[], more: boolean, from: number, to: number, moment?: number }} props */
export function JobLanes({ jobs, more, from, to, moment }) {
    if (!jobs.length) return null;
    const ids = new Set(jobs.map((j) => j.id));
    const whole = jobs.filter((j) => !j.parent || !ids.has(j.parent));
    return html`<section class="joblanes" aria-label=${say.jobs}>
        <h2>${say.jobs}</h2>
        ${whole.slice(0, LANES).map((j) => {
            const parts = jobs.filter((p) => p.parent === j.id);
            return html`<div class="lane" key=${j.id}>
                <span class="lane-name" title=${words(j)}><a href=${`/run/${j.id}`}>${j.name}</a>${j.person && html` <${Person} name=${j.person} />`}</span>
                <span class="tracks">
                    <span class="track" role="img" aria-label=${words(j)}>${Bar(j, from, to)}<${Cross} moment=${moment} from=${from} to=${to} /></span>
                    ${parts.length > 0 && html`<span class="track parts" role="img" aria-label=${say.parts(parts.length)}>${parts.map((p) => Bar(p, from, to))}</span>`}
                </span>
            </div>`;
        })}
        ${whole.length > LANES && html`<p class="dim">${say.moreJobs(whole.length - LANES)}</p>`}
        ${more && html`<p class="dim">${say.tooMany}</p>`}
    </section>`;
}
