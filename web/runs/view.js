/* view.js: the view /run/: what a run did: the verdict in one sentence, what to do about it, its GPUs over its own time, its processes. The link carries no rights: who opens it sees what they may see. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Chart, Damaged, NoChart } from "../history/chart.js";
import { history } from "../history/history.js";
import { ask } from "../kit/api.js";
import { useMoment } from "../kit/cross.js";
import { Empty } from "../kit/empty.js";
import { metricLabel, metrics } from "../kit/facts.js";
import { bytes, COMMA, energy, exactTime, metric, moment as shortTime, number, percent, span, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, natural } from "../kit/live.js";
import { Person } from "../kit/person.js";
import { href } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { useTitle, whileSeen } from "../kit/use.js";
import { FactList } from "../nodes/factlist.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Verdict} Verdict */
/** @typedef {import("../kit/types").VerdictGpu} VerdictGpu */
/** @typedef {import("../kit/types").History} History */
/** @typedef {import("../kit/types").Span} Span */
/** @typedef {import("../kit/types").Problem} Problem */

await sheet("later.css");

const AGAIN_MS = 60000; /* while it runs */
const POINTS = 300;
const GPUS = 16; /* that have charts; the table has them all */
const NODES = 8; /* whose processes are listed */
const MANY = 40;
const MEASURED = ["active", "work", "mem_used", "power"];
const NOT_MEASURED = ["util", "mem_used", "power", "temp"];

/** @param {number | null} v */
const share = (v) => (v === null ? undefined : percent(v));

/** @param {VerdictGpu} g */
const placeOf = (g) => `${g.node}:${g.gpu ?? "?"}`;

/** There is no data of any of its GPUs now: what it did before is no verdict. @param {Verdict} v */
const withheld = (v) => v.no_data?.gpus === v.devices.length;

/** The hub's sentence in the reader's language and numbers. @param {Verdict} v */
function sentence(v) {
    const did = v.active === null || v.waited === null ? [v.why ?? "", v.util === null ? "" : say.utilNotWork(percent(v.util))] : [say.activeWaited(percent(v.active), percent(v.waited)), v.tensor_peak === null ? "" : say.ofTensorPeak(percent(v.tensor_peak))];
    const { no_data: none } = v;
    const silent = none ? say.noData(none.gpus < v.devices.length ? say.ofGpus(none.gpus, v.devices.length) : "", exactTime(none.since), none.node, none.state) : "";
    const parts = [...(withheld(v) ? [] : did), silent];
    const costs = [v.energy === null ? "" : energy(v.energy), v.cost === null ? "" : `${number(v.cost, 2)} ${v.currency}`];
    const list = (/** @type {string[]} */ some) => some.filter(Boolean).join(COMMA);
    const time = span((v.seconds || v.unknown_seconds) * 1000);
    return say.sentence(v.gpus, v.seconds && v.unknown_seconds && !none ? say.andUnknown(time, span(v.unknown_seconds * 1000)) : time, list(parts), list(costs));
}

/** What it did, asked for again while it runs. @param {string} id */
function useVerdict(id) {
    const [got, setGot] = useState(/** @type {{ v?: Verdict, wrong?: Problem }} */ ({}));
    useEffect(() => {
        const stop = new AbortController();
        let going = true;
        const look = () =>
            going &&
            ask(`/api/v1/jobs/${encodeURIComponent(id)}/verdict`, { signal: stop.signal }).then(
                (v) => {
                    going = v.job.state !== "ended";
                    setGot({ v });
                },
                (e) => e.name !== "AbortError" && setGot((was) => ({ ...was, wrong: e })),
            );
        look();
        const end = whileSeen(look, AGAIN_MS);
        return () => {
            end();
            stop.abort();
        };
    }, [id]);
    return got;
}

/** A line for each GPU. @param {History} h @param {string} name @param {string} device */
function lineOf(h, name, device) {
    const by = (/** @type {string} */ agg) => h.series.find((s) => s.metric === name && s.agg === agg && s.device === device)?.v;
    const v = by("avg") ?? by("rate");
    return v && v.some((one) => one !== null) ? [{ label: name, colour: "accent", v, low: by("min"), high: by("max") }] : [];
}

/** Its GPUs over its own time; a drag looks closer. @param {{ v: Verdict }} props */
function Charts({ v }) {
    const [zoomed, setZoomed] = useState(/** @type {[number, number] | null} */ (null));
    const [from, to] = zoomed ?? [v.from, v.to];
    const [got, setGot] = useState(/** @type {{ h?: History, wrong?: Problem, at: number }} */ ({ at: 0 }));
    const { moment, forget, on } = useMoment(from, to);
    const names = v.measured ? MEASURED : NOT_MEASURED;
    const some = v.devices.slice(0, GPUS);
    const devices = some.map((g) => g.device).join();
    useEffect(() => {
        const stop = new AbortController();
        history({ device: devices, names, from, to, points: POINTS, signal: stop.signal }).then(
            (h) => setGot({ h, at: Date.now() }),
            (e) => e.name !== "AbortError" && setGot((was) => ({ ...was, wrong: e })),
        );
        return () => stop.abort();
    }, [devices, from, to]);
    const zoom = (/** @type {number} */ a, /** @type {number} */ b) => {
        forget();
        setZoomed(b > a ? [a, b] : null);
    };
    const { h } = got;
    if (got.wrong && !h) return html`<p class="error" role="alert">${got.wrong.detail}</p>`;
    const x = h?.series[0]?.v.map((_, i) => (h.from + (i + 0.5) * h.step) / 1000) ?? [];
    const chart = (/** @type {string} */ name, /** @type {VerdictGpu} */ g) => {
        const lines = h ? lineOf(h, name, g.device) : [];
        const small = some.length > 1;
        const title = small ? placeOf(g) : metricLabel(name);
        if (!lines.length) return html`<${NoChart} key=${g.device} title=${title} words=${h ? say.notKnown : say.reading} small=${small} />`;
        const top = metrics.get(name)?.unit === "ratio" ? 1 : name === "mem_used" ? v.memory_total ?? undefined : undefined;
        return html`<${Chart} key=${g.device} title=${title} unit=${metrics.get(name)?.unit ?? ""} x=${x} lines=${lines} version=${`${got.at}`} from=${from} to=${to} max=${top} small=${small} moment=${moment} zoom=${zoom} />`;
    };
    return html`<div class="timeline" ...${on}>
        ${h && html`<${Damaged} h=${h} />`}
        ${names.map((name) => (some.length > 1 ? html`<section class="multiples" key=${name} aria-label=${metricLabel(name)}><h2>${metricLabel(name)}</h2><div>${some.map((g) => chart(name, g))}</div></section>` : some.map((g) => chart(name, g))))}
        ${v.devices.length > some.length && html`<p class="dim">${say.chartsOf(some.length, v.devices.length)}</p>`}
    </div>`;
}

/** @param {{ v: Verdict }} props */
function Gpus({ v }) {
    const flops = v.devices.some((g) => g.flops !== null);
    const cells = (/** @type {VerdictGpu} */ g) => [share(g.active), share(g.tensor_peak), share(g.work), ...(flops ? [g.flops === null ? undefined : number(g.flops)] : []), share(g.util), g.memory_peak === null ? undefined : bytes(g.memory_peak), g.host_cpu === null ? undefined : number(g.host_cpu, 1), g.power === null ? undefined : metric("power", g.power), g.energy === null ? undefined : energy(g.energy)];
    const heads = [say.active, say.tensorPeak, metricLabel("work"), ...(flops ? ["TFLOP/s"] : []), metricLabel("util"), say.memoryPeak, say.cores, metricLabel("power"), say.energy];
    return html`<section class="asking" aria-label=${say.itsGpus}>
        <h2>${say.itsGpus}</h2>
        <div class="scroll" tabindex="0" role="region" aria-label=${say.itsGpus}><table class="asked">
            <thead><tr><th scope="col">GPU</th>${heads.map((t) => html`<th scope="col" class="num">${t}</th>`)}</tr></thead>
            <tbody>${v.devices.map((g) => html`<tr key=${g.device}><th scope="row"><a href=${`/gpu/${encodeURIComponent(g.device)}?from=${v.from}&to=${v.to}`}>${placeOf(g)}</a></th>${cells(g).map((c) => html`<td class="num">${c ?? UNKNOWN}</td>`)}</tr>`)}</tbody>
        </table></div>
    </section>`;
}

/** Who was on its GPUs of a node in its time, of its person: that is a person of the hub's people or a login. @param {Verdict} v @param {string} node @param {AbortSignal} signal @returns {Promise<Span[]>} */
async function spansOf(v, node, signal) {
    const its = new Set(v.devices.map((g) => g.device));
    const { person } = v.job;
    for (const whose of person ? [{ person }, { user: person }] : [{}]) {
        const got = await ask(href("/api/v1/processes", { node, from: `${v.from}`, to: `${v.to}`, limit: "500", ...whose }), { signal });
        const some = got.spans.filter((/** @type {Span} */ s) => its.has(s.device));
        if (some.length) return some;
    }
    return [];
}

/** By node, GPU and time. @param {Span} a @param {Span} b */
const byPlace = (a, b) => natural.compare(a.node ?? "", b.node ?? "") || (a.index ?? 0) - (b.index ?? 0) || a.first - b.first;

/** @param {{ v: Verdict }} props */
function Processes({ v }) {
    const [spans, setSpans] = useState(/** @type {Span[]} */ ([]));
    const all = [...new Set(v.devices.map((g) => g.node_id))];
    const nodes = all.slice(0, NODES);
    useEffect(() => {
        const stop = new AbortController();
        Promise.all(nodes.map((node) => spansOf(v, node, stop.signal))).then(
            (got) => setSpans(got.flat().sort(byPlace)),
            () => {},
        );
        return () => stop.abort();
    }, [nodes.join(), v.from]);
    if (!spans.length) return null;
    const now = hubNow();
    return html`<section class="asking" aria-label=${say.processes}>
        <h2>${say.processes}</h2>
        <div class="scroll" tabindex="0" role="region" aria-label=${say.processes}><table class="asked">
            <thead><tr><th scope="col">${say.program}</th><th scope="col">GPU</th><th scope="col">${say.from}</th><th scope="col" class="num">${say.howLong}</th><th scope="col" class="num">${say.memoryPeak}</th></tr></thead>
            <tbody>${spans.slice(0, MANY).map((s) => html`<tr><th scope="row">${s.program ?? UNKNOWN}</th><td>${s.node ?? UNKNOWN}:${s.index ?? "?"}</td><td title=${exactTime(s.first)}>${shortTime(Math.max(s.first, v.from), now)}</td>
                <td class="num">${span(Math.min(s.there ? now : s.last, v.to) - Math.max(s.first, v.from))}</td><td class="num">${s.memory_max === null ? "" : bytes(s.memory_max)}</td></tr>`)}</tbody>
        </table></div>
        ${spans.length > MANY && html`<p class="dim">${say.more(spans.length - MANY)}</p>`}
        ${all.length > nodes.length && html`<p class="dim">${say.processesOf(nodes.length, all.length)}</p>`}
    </section>`;
}

/** @param {{ v: Verdict }} props */
function Advice({ v }) {
    if (!v.advice.length) return v.rules || v.rules_why ? html`<p class="dim">${v.rules ? say.nothingWrong : say.tooShort}</p>` : null;
    return html`<section class="advice" aria-label=${say.whatToDo}>${v.advice.map((a) => html`<p key=${a.rule}><b>${a.title}</b> <span class="dim">${say.forSo(span(a.seconds * 1000), a.devices.length, v.devices.length)}</span><br />${a.evidence}<br />${a.remedy}</p>`)}</section>`;
}

/** @param {{ arg: string }} props */
export default function RunView({ arg }) {
    const id = decodeURIComponent(arg);
    const { v, wrong } = useVerdict(id);
    const moved = useRef("");
    useTitle(v?.job.name ?? say.run);
    useEffect(() => {
        if (v && v.job.id !== id && moved.current !== id) {
            moved.current = id;
            window.history.replaceState(window.history.state, "", `/run/${v.job.id}${location.search}`); /* it is part of another one by now */
        }
    }, [v]);
    if (!v) return wrong ? html`<${Empty} title=${say.noSuchRun(id)}><p>${wrong.detail}</p><//>` : null;
    const { job } = v;
    const spare = v.memory_peak !== null && v.memory_total !== null ? bytes(Math.max(v.memory_total - v.memory_peak, 0)) : undefined;
    return html`<div class="one run">
        <div class="lead">
            <h1>${job.name} <span class="dim">${job.kind}</span></h1>
            <p class="sentence">${sentence(v)}</p>
            <p class="dim">${job.person && html`<${Person} name=${job.person} />${COMMA}`}${exactTime(v.from)} – ${job.state === "ended" ? exactTime(v.to) : v.no_data && withheld(v) ? say.state("unfinished") : say.state(job.state)}${job.parent && html`${COMMA}<a href=${`/run/${job.parent}`}>${say.partOf}</a>`}${v.devices.length > 0 && html` · <a href=${`/api/v1/jobs/${job.id}/verdict?format=png`} download=${`run-${job.id}.png`}>PNG</a> · <a href=${`/api/v1/jobs/${job.id}/verdict`}>JSON</a>`}</p>
            ${wrong && html`<p class="error" role="alert">${wrong.detail}</p>`}
            <${Advice} v=${v} />
        </div>
        <div class="sides">
            <aside>
                <${FactList} label=${v.no_data && withheld(v) ? say.didUntil(exactTime(v.no_data.since)) : say.whatItDid} rows=${[
                    [say.active, share(v.active)],
                    [say.waited, share(v.waited)],
                    [say.tensorPeak, share(v.tensor_peak)],
                    [metricLabel("work"), share(v.work)],
                    [metricLabel("flops"), v.flops === null ? undefined : metric("flops", v.flops)],
                    [metricLabel("util"), share(v.util)],
                    [say.energy, v.energy === null ? undefined : energy(v.energy)],
                    [say.cost, v.cost === null ? undefined : `${number(v.cost, 2)} ${v.currency}`],
                ]} />
                <${FactList} label=${say.needed} rows=${[
                    [say.memoryPeak, v.memory_peak === null ? undefined : v.memory_total === null ? bytes(v.memory_peak) : say.of(bytes(v.memory_peak), bytes(v.memory_total))],
                    [say.couldShare, spare],
                    [say.cores, v.host_cpu === null ? undefined : say.aGpu(number(v.host_cpu, 1))],
                    [say.busiest, v.host_cpu_top === null ? undefined : number(v.host_cpu_top, 1)],
                    [say.powerPeak, v.power_peak === null ? undefined : metric("power", v.power_peak)],
                    [say.tempPeak, v.temperature_peak === null ? undefined : metric("temp", v.temperature_peak)],
                ]} />
                <${FactList} label=${say.run} rows=${[
                    [say.nodes, [...new Set(v.devices.map((g) => g.node))].map((n, i) => html`${i > 0 && COMMA}<a href=${`/node/${encodeURIComponent(n)}`}>${n}</a>`)],
                    [say.command, job.attributes?.command],
                    ["W&B", job.attributes?.wandb && (/^https?:\/\//.test(job.attributes.url) ? html`<a href=${job.attributes.url} rel="noreferrer">${job.attributes.wandb}</a>` : `${job.attributes.wandb}`)], /* anybody may have written them */
                    ["id", job.id],
                ]} />
            </aside>
            <div class="main">
                ${v.devices.length > 0 ? html`<${Charts} key=${job.id} v=${v} /><${Gpus} v=${v} /><${Processes} v=${v} />` : html`<p class="dim">${v.why}</p>`}
            </div>
        </div>
    </div>`;
}
