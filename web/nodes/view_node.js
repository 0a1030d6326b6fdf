/* view_node.js: the view /node/: one machine: its GPUs now, its night strip, its past as charts, one per GPU, who was on them, its facts, its events. */
import { useEffect, useRef } from "preact/hooks";
import { Pick } from "../history/pick.js";
import { Strip, useStrip } from "../history/strip.js";
import { Timeline } from "../history/timeline.js";
import { Empty, Refused } from "../kit/empty.js";
import { metricLabel } from "../kit/facts.js";
import { COMMA, metric, number, percent, span } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, live, watch } from "../kit/live.js";
import { devicesOf, modelOf, nodeName, siteHref } from "../kit/model.js";
import { usePlace } from "../kit/router.js";
import { useLive, useTick } from "../kit/use.js";
import { Cell } from "../now/cell.js";
import { Details } from "../now/details.js";
import { cpuShare, diskNote, DISKS, disks, heardOf, level } from "../now/host.js";
import { nodeTrouble } from "../now/sentences.js";
import { FactList } from "./factlist.js";
import { Keep } from "./keep.js";
import { Processes } from "./processes.js";
import { limitsOf, picked } from "./view_gpu.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").History} History */

const USUAL = ["mem_used", "power", "temp"]; /* how busy they were is the strip's */
const OF_NODE = ["cpu", "ram_used"];
const RANGE = "1d";

/** A line per GPU, each for a chart of its own; of the node's own metrics one. @param {History} h @param {string} name */
function lines(h, name) {
    const some = h.series.filter((s) => s.metric === name && (s.agg === "avg" || s.agg === "rate"));
    return some.map((s) => {
        const by = (/** @type {string} */ agg) => h.series.find((o) => o.metric === name && o.agg === agg && o.device === s.device)?.v;
        return { label: s.device === null ? name : `GPU ${s.index ?? "?"}`, colour: "accent", v: s.v, low: by("min"), high: by("max") };
    });
}

/** Its GPUs' work and holders, in the time that the charts below show. @param {{ node: string, gpus: number, shown: ReturnType<typeof import("../history/history.js").stretch> }} props */
function NodeStrip({ node, gpus, shown }) {
    const { strip, stale, wrong } = useStrip({ device: node }, shown);
    return html`<div class="night-room ${stale ? "stale-data" : ""}" style=${{ minHeight: `${72 + 20 * gpus}px` }}>
        ${wrong && html`<p class="error" role="alert">${wrong.detail}</p>`}
        ${strip && html`<${Strip} strip=${strip} live=${shown.live} curves=${false} />`}
    </div>`;
}

/** @param {{ arg: string }} props */
export default function NodeView({ arg }) {
    const { query } = usePlace();
    const { nodes, status } = useLive();
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    useTick();
    useEffect(() => watch({}), []);
    const name = decodeURIComponent(arg);
    const n = nodes.find((one) => one.name === name || one.id === name);
    const names = picked(query, USUAL, "device");
    if (!nodes.length && status === "lost" && live.problem) return html`<${Refused} />`;
    if (status === "connecting") return null;
    if (!n) return html`<${Empty} title=${say.noSuchNode(name)}><p>${say.maybeRenamed} <a href="/">${say.allNodes}</a></p><//>`;
    const devices = devicesOf(n);
    const m = n.metrics;
    const same = (/** @type {string} */ of) => (new Set(devices.map((d) => d.metrics[of])).size === 1 ? devices[0].metrics[of] : undefined);
    const limits = { ...limitsOf({ mem_total: same("mem_total") ?? 0, power_limit: same("power_limit") ?? 0 }), ram_used: m.ram_total ? { value: m.ram_total, words: say.totalRam(metric("ram_total", m.ram_total)) } : undefined };
    const trouble = nodeTrouble(n);
    const { heard } = heardOf(n);
    return html`<div class="one">
        <div class="lead">
            <h1>${nodeName(n)} <span class="dim">${devices.length ? `${modelOf(n)} ×${devices.length}` : ""}</span></h1>
            ${!n.site && html`<${Keep} n=${n} />`}
            <p class="sentence ${n.state}">${trouble || say.up}${heard === undefined ? "" : html`${COMMA}<span class="dim">${say.heardAgo(span(hubNow() - heard))}</span>`}</p>
        </div>
        <div class="sides">
            <aside>
                <${FactList} label=${say.now} rows=${[
                    [say.load, m.load1 === undefined ? undefined : n.cpus ? say.of(number(m.load1, 1), n.cpus) : number(m.load1, 1)],
                    ["CPU", m.cpu === undefined ? undefined : html`<span class=${level("host", m.cpu)}>${metric("cpu", m.cpu)}</span>`],
                    [say.loadPerCpu, m.cpu !== undefined || cpuShare(n) === undefined ? undefined : html`<span class=${level("host", cpuShare(n))}>${percent(cpuShare(n) ?? 0)}</span>`],
                    ["RAM", m.ram_total === undefined ? undefined : say.of(metric("ram_used", m.ram_used), metric("ram_total", m.ram_total))],
                    [DISKS, m.disk_total === undefined ? undefined : say.of(metric("disk_used", m.disk_used), metric("disk_total", m.disk_total))],
                    ...disks(n).map(([where, v, text]) => [where === DISKS ? say.diskUse : where, html`<span class=${level("host", v)} title=${diskNote(n)}>${text}</span>`]),
                    [metricLabel("uptime"), m.uptime === undefined ? undefined : metric("uptime", m.uptime)],
                ]} />
                <${FactList} label=${say.facts} rows=${[
                    [say.system, n.os],
                    [say.kernel, n.kernel],
                    ["CPU", n.cpu],
                    [say.driver, n.driver],
                    ["CUDA", n.cuda],
                    [say.address, n.address],
                    [say.agent, n.agent],
                    [say.readWith, n.collector],
                    ["id", n.id],
                    [say.realName, n.display ? n.name : undefined],
                ]} />
                ${n.labels && html`<${FactList} label=${say.labels} rows=${Object.entries(n.labels)} />`}
            </aside>
            <div class="main">
                ${devices.length
                    ? html`<div class="cells" ref=${box}>${devices.map((d, i) => html`<${Cell} key=${d.uuid} d=${d} node=${nodeName(n)} first=${i === 0} />`)}</div><${Details} of=${box} />`
                    : html`<${Empty} title=${say.noGpusHere}><p>${n.reason || say.noDriver} ${say.doctor(html`<code>muster doctor</code>`)}</p><//>`}
                ${n.site
                    ? html`<p>${say.pastAtSite(html`<a href=${siteHref(n)}>${n.site}</a>`)}</p><${Processes} devices=${devices} />`
                    : html`<${Timeline} key=${n.id} device=${n.id} node=${n.id} names=${devices.length ? [...names, ...OF_NODE] : OF_NODE} lines=${lines} limits=${limits} several=${devices.length} below=${devices.length > 0 && html`<${Processes} devices=${devices} />`} usual=${RANGE}
                        above=${devices.length > 0 ? (/** @type {any} */ shown) => html`<${NodeStrip} node=${n.id} gpus=${devices.length} shown=${shown} />` : undefined}>
                        ${devices.length > 0 && html`<${Pick} scope="device" names=${names} usual=${USUAL} />`}<//>`}
            </div>
        </div>
    </div>`;
}
