/* What the page costs a browser: Debian's Chromium, headless, against a hub on this machine.
 * Usage: node bench/page.mjs [--nodes N] [--seconds S] [--loads L] [--minutes M] [--only frames]
 *
 * cold     the demo, loaded L times with an empty cache: bytes on the wire, requests, and the time from the start of the
 *          navigation until the answer and the first cells have been painted
 * slow     the same over a line of 40 ms latency and 4 Mbit/s (simulated by the browser): from the last byte of HTML on
 * pixel    the demo watched for S seconds at its default settings: from the moment a sample was taken until the frame that
 *          shows it was painted. The hub says how old a sample is when it sends it, so the way to the browser, on one
 *          machine, is what this leaves out
 * frames   N nodes of 8 GPUs that all change each second, for S seconds, as tiles and as rows that scroll: time between
 *          frames, the processor time of the page's main thread in each (from a trace, so that it says the same on a busy
 *          machine), the heap before and after (collected); and the same of a plain page of as many rows that never
 *          change, scrolled in the same way: what the browser itself takes
 * heap     with --minutes, and nothing else then: those nodes watched so long, the heap (collected) each minute
 */
import { parseArgs } from "node:util";
import { chrome, demo, hub, open, simulate } from "../tests/kit/lib.mjs";

const { values } = parseArgs({ options: { nodes: { type: "string", default: "500" }, seconds: { type: "string", default: "20" }, loads: { type: "string", default: "9" }, minutes: { type: "string", default: "0" }, only: { type: "string", default: "" } } });
const ends = [];
const t = { after: (f) => ends.unshift(f) };
const sorted = (v) => [...v].sort((a, b) => a - b);
const at = (v, share) => sorted(v)[Math.min(v.length - 1, Math.floor(v.length * share))];
const ms = (v) => `${v.toFixed(1)} ms`;

/** Says in window.useful when the first cells were painted. */
function watchPaint() {
    new MutationObserver((_, self) => {
        if (!document.querySelector(".cell, .dot")) return;
        self.disconnect();
        requestAnimationFrame(() => setTimeout(() => (window.useful = performance.now())));
    }).observe(document, { childList: true, subtree: true });
}

const SLOW = { offline: false, latency: 40, downloadThroughput: 4e6 / 8, uploadThroughput: 4e6 / 8 };

async function load(url, line) {
    const page = await open(t, "about:blank");
    const cdp = await page.context().newCDPSession(page);
    const kinds = {};
    let requests = 0;
    const urls = new Map();
    await cdp.send("Network.enable");
    await cdp.send("Network.clearBrowserCache");
    if (line) await cdp.send("Network.emulateNetworkConditions", line);
    cdp.on("Network.requestWillBeSent", (e) => urls.set(e.requestId, e.request.url) && requests++);
    const add = (e) => {
        const kind = urls.get(e.requestId)?.includes("/api/") ? "state" : "page";
        kinds[kind] = (kinds[kind] ?? 0) + e.encodedDataLength;
    };
    cdp.on("Network.dataReceived", add);
    cdp.on("Network.responseReceived", (e) => add({ requestId: e.requestId, encodedDataLength: e.response.headersText?.length ?? 0 }));
    await page.addInitScript(watchPaint);
    await page.goto(url);
    await page.waitForFunction(() => window.useful);
    const { useful, html, bytes } = await page.evaluate(() => {
        const { responseEnd, encodedBodySize } = performance.getEntriesByType("navigation")[0];
        return { useful: window.useful, html: responseEnd, bytes: encodedBodySize };
    });
    const got = { useful, after: useful - html, page: kinds.page + bytes, state: kinds.state, requests };
    await page.context().close();
    return got;
}

/** From sample to pixel: one number per GPU and sample. */
async function pixels(url, seconds) {
    const page = await open(t, url);
    await page.waitForSelector(".cell");
    await page.waitForTimeout(6000); /* agents hear that somebody watches with their next answer */
    const ages = await page.evaluate(async (s) => {
        const { live, onChange } = (await import("/assets/kit/live.js")).$kit_live;
        const seen = new Map();
        const v = [];
        const stop = onChange(() =>
            requestAnimationFrame(() =>
                setTimeout(() => {
                    for (const d of live.nodes.flatMap((n) => n.devices)) {
                        if (d.heard === undefined || (seen.has(d.uuid) && d.heard - seen.get(d.uuid) < 100)) continue;
                        if (seen.has(d.uuid)) v.push(Date.now() - d.heard);
                        seen.set(d.uuid, d.heard);
                    }
                }),
            ),
        );
        await new Promise((go) => setTimeout(go, s * 1000));
        stop();
        return v;
    }, seconds);
    console.log(`  ${ages.length} samples: median ${ms(at(ages, 0.5))}, p95 ${ms(at(ages, 0.95))}, worst ${ms(Math.max(...ages))}`);
    await page.context().close();
}

/** What is done meanwhile, as events of the browser's own. */
async function traced(cdp, doing) {
    const events = [];
    const take = (e) => events.push(...e.value);
    cdp.on("Tracing.dataCollected", take);
    await cdp.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["devtools.timeline", "toplevel", "cc"], excludedCategories: ["*"] } });
    const got = await doing();
    const end = new Promise((go) => cdp.once("Tracing.tracingComplete", go));
    await cdp.send("Tracing.end");
    await end;
    cdp.off("Tracing.dataCollected", take);
    return { events, got };
}

const KINDS = { Layout: "layout", UpdateLayoutTree: "styles", Paint: "painting", PrePaint: "painting", Layerize: "painting", FireAnimationFrame: "scripts", EventDispatch: "scripts", FunctionCall: "scripts", "v8.callFunction": "scripts", TimerFire: "scripts" };

/** Processor time of the page's main thread, in ms: from the beginning of each frame to that of the next; and of all of them by kind. */
function mainThread(events) {
    const isMain = new Set(events.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid} ${e.tid}`));
    const mine = events.filter((e) => e.ph === "X" && isMain.has(`${e.pid} ${e.tid}`) && e.tdur !== undefined).sort((a, b) => a.ts - b.ts || b.dur - a.dur);
    const { pid } = mine.find((e) => e.name === "ProxyMain::BeginMainFrame");
    const perFrame = [];
    const kinds = {};
    const open = [];
    let task = 0;
    for (const e of mine.filter((one) => one.pid === pid)) {
        while (open.length && open.at(-1).ts + open.at(-1).dur <= e.ts) open.pop();
        const kind = (one) => KINDS[one.name] ?? "other";
        if (open.length) kinds[kind(open.at(-1))] -= e.tdur / 1000;
        else if (perFrame.length) perFrame[perFrame.length - 1] += task = e.tdur / 1000;
        else task = 0;
        kinds[kind(e)] = (kinds[kind(e)] ?? 0) + e.tdur / 1000;
        if (e.name === "ProxyMain::BeginMainFrame") {
            if (perFrame.length) perFrame[perFrame.length - 1] -= task; /* the task that it is part of is this frame's */
            perFrame.push(task);
        }
        open.push(e);
    }
    return { perFrame: perFrame.slice(1, -1), kinds };
}

/** Scrolls, or just looks on: the times between frames. */
const watchFrames = (page, seconds, scroll) =>
    page.evaluate(
        ([s, moves]) =>
            new Promise((done) => {
                const v = [];
                let last = performance.now();
                const end = last + s * 1000;
                const step = (now) => {
                    v.push(now - last);
                    last = now;
                    if (moves) scrollBy(0, 12);
                    if (now < end) requestAnimationFrame(step);
                    else done(v.slice(2));
                };
                requestAnimationFrame(step);
            }),
        [seconds, scroll],
    );

/** In its place, a page without scripts that has the rows which are there, again and again, up to as many as there are nodes. */
async function makePlain(page) {
    const text = await page.evaluate(async (nodes) => {
        const sheets = await Promise.all([...document.querySelectorAll("link[rel=stylesheet]")].map(async (l) => (await fetch(l.href)).text()));
        const rows = [...document.querySelectorAll(".row")].map((r) => r.outerHTML);
        const all = Array.from({ length: nodes }, (_, i) => rows[i % rows.length]).join("");
        return `<!doctype html><meta charset="utf-8"><style>${sheets.join("\n")}</style><main><div class="now"><div class="list rows" style="${document.querySelector(".list").getAttribute("style")}">${all}</div></div></main>`;
    }, Number(values.nodes));
    await page.goto("about:blank");
    await page.setContent(text);
}

async function frames(url, seconds, scroll, plain) {
    const page = await open(t, url, { width: 1920, height: 1080 });
    const cdp = await page.context().newCDPSession(page);
    await page.waitForSelector(".cell, .dot");
    await page.waitForTimeout(3000);
    if (plain) await makePlain(page);
    await page.waitForTimeout(1000);
    const heapOf = async () => {
        await cdp.send("HeapProfiler.collectGarbage");
        return (await cdp.send("Runtime.getHeapUsage")).usedSize / 1e6;
    };
    const before = await heapOf();
    const { events, got: gaps } = await traced(cdp, () => watchFrames(page, seconds, scroll));
    const { perFrame, kinds } = mainThread(events);
    const sum = perFrame.reduce((a, b) => a + b, 0);
    const parts = Object.entries(kinds).sort(([, a], [, b]) => b - a).map(([kind, v]) => `${kind} ${(v / perFrame.length).toFixed(2)}`);
    console.log(`  ${gaps.length} frames: between them median ${ms(at(gaps, 0.5))}, p95 ${ms(at(gaps, 0.95))}, worst ${ms(Math.max(...gaps))}; over 50 ms: ${gaps.filter((g) => g > 50).length}`);
    console.log(`  main thread per frame: mean ${ms(sum / perFrame.length)} (${parts.join(", ")}), median ${ms(at(perFrame, 0.5))}, p95 ${ms(at(perFrame, 0.95))}, worst ${ms(Math.max(...perFrame))}; ${Math.round(sum / seconds / 10)} % of a core`);
    const { nodes } = await cdp.send("Memory.getDOMCounters");
    console.log(`  heap ${before.toFixed(1)} MB, then ${(await heapOf()).toFixed(1)} MB; ${nodes} DOM nodes`);
    await page.context().close();
}

async function heap(url, minutes) {
    const page = await open(t, url, { width: 1920, height: 1080 });
    const cdp = await page.context().newCDPSession(page);
    await page.waitForSelector(".cell, .dot");
    const sizes = [];
    for (let i = 0; i <= minutes; i++) {
        await page.waitForTimeout(i ? 60000 : 10000);
        await cdp.send("HeapProfiler.collectGarbage");
        const { usedSize } = await cdp.send("Runtime.getHeapUsage");
        const { nodes } = await cdp.send("Memory.getDOMCounters");
        sizes.push(`${(usedSize / 1e6).toFixed(1)} MB, ${nodes} DOM nodes`);
    }
    console.log(`  by the minute: ${sizes.join("; ")}`);
    await page.context().close();
}

async function allFrames(url) {
    for (const [name, query, scroll, plain] of [["tiles", "tiles"], ["rows", "rows"], ["rows, scrolling", "rows", true], ["a plain page of them, scrolling", "rows", true, true]]) {
        console.log(`frames, ${values.nodes} nodes x 8 GPUs each second, ${values.seconds} s, ${name}`);
        await frames(`${url}/?layout=${query}`, Number(values.seconds), scroll, plain);
    }
}

async function all() {
    const d = await demo(t);
    const loads = [];
    for (let i = 0; i < Number(values.loads); i++) loads.push(await load(d.url));
    console.log(`cold, ${values.loads} loads of the demo (48 GPUs)`);
    console.log(`  first useful paint: median ${ms(at(loads.map((l) => l.useful), 0.5))}, best ${ms(Math.min(...loads.map((l) => l.useful)))}, worst ${ms(Math.max(...loads.map((l) => l.useful)))}`);
    console.log(`  on the wire: page ${(at(loads.map((l) => l.page), 0.5) / 1000).toFixed(1)} kB in ${loads[0].requests} requests, state ${(at(loads.map((l) => l.state), 0.5) / 1000).toFixed(1)} kB`);
    const slow = [];
    for (let i = 0; i < Number(values.loads); i++) slow.push((await load(d.url, SLOW)).after);
    console.log(`  over 40 ms and 4 Mbit/s, first cells after the last byte of HTML: median ${ms(at(slow, 0.5))}, best ${ms(Math.min(...slow))}, worst ${ms(Math.max(...slow))}`);
    console.log(`from a sample taken to its pixel, ${values.seconds} s of the demo`);
    await pixels(d.url, Number(values.seconds));
    const h = await hub(t);
    await simulate(t, h, values.nodes);
    await allFrames(h.url);
}

try {
    if (Number(values.minutes)) {
        const h = await hub(t);
        await simulate(t, h, values.nodes);
        console.log(`heap, ${values.nodes} nodes x 8 GPUs each second, ${values.minutes} minutes`);
        await heap(h.url, Number(values.minutes));
    } else if (values.only === "frames") {
        const h = await hub(t);
        await simulate(t, h, values.nodes);
        await allFrames(h.url);
    } else {
        await all();
    }
} finally {
    for (const end of ends) await end();
    await (await chrome()).close();
}
