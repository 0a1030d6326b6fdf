/* view_gpu.js: the view /gpu/: one GPU: its state in a sentence, its facts, its past as charts, who was on it, what happened. */
import { useEffect, useState } from "preact/hooks";
import { Offer } from "../book/offer.js";
import { Pick } from "../history/pick.js";
import { Timeline } from "../history/timeline.js";
import { Empty, Refused } from "../kit/empty.js";
import { ask } from "../kit/api.js";
import { metricLabel, metrics, stateOf } from "../kit/facts.js";
import { metric, span } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, live, watch } from "../kit/live.js";
import { gpuNamed, indexOf, isFresh, modelName, nodeName, placeOf, siteHref } from "../kit/model.js";
import { go, usePlace } from "../kit/router.js";
import { useLive, useTick, useTitle, whileSeen } from "../kit/use.js";
import { deviceSentence } from "../now/sentences.js";
import { FactList } from "./factlist.js";
import { Processes } from "./processes.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").History} History */

const USUAL = ["util", "mem_used", "power", "temp"];
/** @type {Record<string, string>} */
const COLOURS = { util: "busy", mem_used: "dim", power: "held", temp: "hung" };

/** The metrics the URL names that there are. @param {URLSearchParams} query @param {string[]} usual @param {string} scope */
export function picked(query, usual, scope) {
    const names = (query.get("m") ?? "").split(",").filter((n) => metrics.get(n)?.scope === scope);
    return names.length ? names : usual;
}

/** What a chart's values cannot exceed. @param {Record<string, number>} m of a GPU */
export const limitsOf = (m) => ({
    mem_used: m.mem_total ? { value: m.mem_total, words: say.totalMemory(metric("mem_total", m.mem_total)) } : undefined,
    power: m.power_limit ? { value: m.power_limit, words: say.limit(metric("power_limit", m.power_limit)) } : undefined,
});

/** One line with its band. @param {History} h @param {string} name */
function line(h, name) {
    const by = (/** @type {string} */ agg) => h.series.find((s) => s.metric === name && s.agg === agg)?.v;
    const v = by("avg") ?? by("rate");
    return v ? [{ label: name, colour: COLOURS[name] ?? "accent", v, low: by("min"), high: by("max") }] : [];
}

const AGAIN_MS = 60000;

/** What the run on it is told of this GPU now, as its page has it; null: no run is on it. @param {string} uuid @param {AbortSignal} signal */
async function adviceOfRun(uuid, signal) {
    const { jobs } = await ask(`/api/v1/jobs?device=${encodeURIComponent(uuid)}&from=-1m&limit=20`, { signal });
    const run = jobs.find((/** @type {import("../kit/types").Job} */ j) => j.state === "running");
    if (!run) return null;
    const { advice } = await ask(`/api/v1/jobs/${run.id}/verdict`, { signal });
    return advice.filter((/** @type {any} */ a) => a.now && a.devices.includes(uuid)).map((/** @type {any} */ a) => ({ ...a, run }));
}

/** What to do about it: of a GPU with a run that of the run, so that both pages have the same numbers; else what the rules find live, which has no numbers. site: the hub has no runs of followed sites. @param {{ d: import("../kit/types").Device, site?: string }} props */
function Advice({ d, site }) {
    const [ofRun, setOfRun] = useState(/** @type {any[] | null | undefined} */ (undefined));
    useEffect(() => {
        if (site) return setOfRun(null);
        const stop = new AbortController();
        const look = () => adviceOfRun(d.uuid, stop.signal).then(setOfRun, (e) => e.name !== "AbortError" && setOfRun(null));
        void look();
        const rest = whileSeen(look, AGAIN_MS);
        return () => {
            rest();
            stop.abort();
        };
    }, [d.uuid, site]);
    if (ofRun === undefined) return null;
    return (ofRun ?? d.advice ?? []).map((a) => html`<p class="note">${a.title}${a.evidence && ` (${a.evidence})`}: ${a.remedy}${a.run && html` <a href=${`/run/${a.run.id}`}>${a.run.name}</a>`}</p>`);
}

/** @param {{ arg: string }} props */
export default function Gpu({ arg }) {
    const { query } = usePlace();
    const { nodes, status } = useLive();
    useTick();
    useEffect(() => watch({}), []);
    const word = decodeURIComponent(arg);
    const { node, d } = gpuNamed(nodes, word);
    const uuid = d?.uuid ?? word;
    useTitle(node && d ? placeOf(node, d) : word);
    useEffect(() => {
        if (uuid !== word) go(`/gpu/${encodeURIComponent(uuid)}${location.search}`, true);
    }, [uuid, word]);
    const names = picked(query, USUAL, "device");
    if (!nodes.length && status === "lost" && live.problem) return html`<${Refused} />`;
    if (status === "connecting") return null;
    if (node && !d) return html`<${Empty} title=${say.noSuchGpu(nodeName(node), word.slice(word.lastIndexOf(":") + 1))}><p>${say.hasGpus(html`<a href="/node/${encodeURIComponent(node.name)}">${nodeName(node)}</a>`, node.devices.length)}</p><//>`;
    const m = d?.metrics ?? {};
    return html`<div class="one">
        <div class="lead">
            ${node && d
                ? html`<h1><a href="/node/${encodeURIComponent(node.name)}">${nodeName(node)}</a> · GPU ${indexOf(d)} <span class="dim">${modelName(d)}</span></h1>
                    <p class="sentence ${d.state}"><span class="mark">${stateOf.get(d.state)?.mark}</span> ${deviceSentence(d, hubNow())}</p>
                    ${isFresh(d) && html`<${Advice} key=${d.uuid} d=${d} site=${node?.site} />`}
                    <${Offer} n=${node} d=${d} />
                    ${d.note && !d.reason.includes(d.note) && html`<p class="note">${d.note}</p>`}`
                : html`<h1>${uuid}</h1><p class="dim">${say.noNodeHas}</p>`}
        </div>
        <div class="sides">
            ${d && html`<aside>
                <${FactList} label=${say.now} rows=${[
                    [metricLabel("util"), isFresh(d) ? metric("util", m.util) : undefined],
                    [metricLabel("work"), isFresh(d) && m.work !== undefined ? metric("work", m.work) : undefined],
                    [metricLabel("flops"), isFresh(d) && m.flops !== undefined ? metric("flops", m.flops) : undefined],
                    [metricLabel("mem_used"), isFresh(d) && m.mem_total ? say.of(metric("mem_used", m.mem_used), metric("mem_total", m.mem_total)) : undefined],
                    [metricLabel("power"), !isFresh(d) ? undefined : m.power_limit ? say.of(metric("power", m.power), metric("power_limit", m.power_limit)) : metric("power", m.power)],
                    [metricLabel("temp"), isFresh(d) ? metric("temp", m.temp) : undefined],
                    [say.clocks, d.throttle?.filter((w) => w !== "idle").join(", ")],
                    [say.age, d.heard === undefined ? say.noSample : span(hubNow() - d.heard)],
                ]} />
                <${FactList} label=${say.facts} rows=${[
                    [say.model, d.name],
                    ["UUID", d.uuid],
                    [say.serial, d.serial],
                    ["PCI", d.pci],
                    ["PCIe", m.pcie_gen ? say.pcie(m.pcie_gen, m.pcie_width ?? "?") : undefined],
                    [say.highestClocks, m.clock_sm_max ? say.andMemory(metric("clock_sm_max", m.clock_sm_max), metric("clock_mem_max", m.clock_mem_max)) : undefined],
                    [say.eccErrors, m.ecc_uncorrected === undefined ? undefined : html`${say.corrected(m.ecc_uncorrected, m.ecc_corrected ?? 0)} <a href="?m=ecc_corrected&range=1w">${say.trend}</a>`],
                    [metricLabel("rows_remapped"), m.rows_remapped],
                    [say.driver, node?.driver],
                    ["CUDA", node?.cuda],
                ]} />
            </aside>`}
            <div class="main">
                ${node?.site
                    ? html`<p>${say.pastAtSite(html`<a href=${siteHref(node, d)}>${node.site}</a>`)}</p>${d && html`<${Processes} devices=${[d]} />`}`
                    : html`<${Timeline} key=${uuid} device=${uuid} node=${node?.id} uuid=${uuid} names=${names} lines=${line} limits=${limitsOf(m)} below=${d && html`<${Processes} devices=${[d]} />`}
                        fresh=${d && isFresh(d) ? { at: d.heard, metrics: m } : undefined}><${Pick} scope="device" names=${names} usual=${USUAL} /><//>`}
            </div>
        </div>
    </div>`;
}
