/* processes.js: a table of the processes that are on a GPU, or on a node's GPUs, now. */
import { bytes, exactTime, percent, span, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { GONE_WORDS, indexOf, isGone } from "../kit/model.js";
import { Person } from "../kit/person.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Device} Device */
/** @typedef {import("../kit/types").Process} Process */

/** Whoever it is, with a link to their page. @param {{ p: Process }} props */
function Owner({ p }) {
    if (!p.user) return UNKNOWN;
    if (isGone(p)) return html`<span title=${GONE_WORDS}>${p.user}</span>`;
    if (p.person === null) return p.user;
    return p.person ? html`${p.user} <span class="dim">(<${Person} name=${p.person} />)</span>` : html`<${Person} name=${p.user} />`;
}

/** @param {{ devices: Device[] }} props */
export function Processes({ devices }) {
    const rows = devices.flatMap((d) => d.processes.map((p) => ({ d, p }))).sort((a, b) => (b.p.mem ?? 0) - (a.p.mem ?? 0));
    const several = devices.length > 1;
    return html`<section class="processes" aria-label=${say.processesNow}>
        <h2>${say.processesNow}</h2>
        ${!rows.length && html`<p class="dim">${say.none}</p>`}
        ${rows.length > 0 && html`<div class="scroll"><table class="list">
            <thead><tr>${several && html`<th scope="col" class="num">GPU</th>`}<th scope="col">${say.user}</th><th scope="col" class="num">pid</th><th scope="col">${say.program}</th>
                <th scope="col" class="num">${say.memory}</th><th scope="col" class="num">SM</th><th scope="col" class="num">${say.howLong}</th><th scope="col">${say.runsIn}</th></tr></thead>
            <tbody>${rows.map(
                ({ d, p }) => html`<tr key=${`${d.uuid} ${p.pid}`}>
                    ${several && html`<td class="num">${indexOf(d)}</td>`}
                    <td><${Owner} p=${p} /></td>
                    <td class="num">${p.pid}</td>
                    <td class="program" title=${p.cmd ?? ""}>${p.cmd ?? p.name ?? UNKNOWN}</td>
                    <td class="num">${p.mem === undefined ? UNKNOWN : bytes(p.mem)}</td>
                    <td class="num">${p.sm === undefined ? UNKNOWN : percent(p.sm)}</td>
                    <td class="num" title=${p.start ? exactTime(p.start) : ""}>${p.start ? span(hubNow() - p.start) : UNKNOWN}</td>
                    <td>${[p.slurm_job && say.slurmJob(p.slurm_job), p.runtime && `${p.runtime} ${(p.container ?? "").slice(0, 12)}`, p.pod && `pod ${p.pod}`].filter(Boolean).join(", ")}</td>
                </tr>`,
            )}</tbody>
        </table></div>`}
    </section>`;
}
