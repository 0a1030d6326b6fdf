/* What the page costs a browser: Debian's Chromium, headless, against a hub on this machine.
 * Usage: node bench/page.mjs [--nodes N] [--seconds S] [--loads L] [--minutes M]
 *
 * cold     the demo, loaded L times with an empty cache: bytes on the wire, requests, and the time from the start of the
 *          navigation until the answer and the first cells have been painted
 * slow     the same over a line of 40 ms latency and 4 Mbit/s (simulated by the browser): from the last byte of HTML on
 * pixel    the demo watched for S seconds at its default settings: from the moment a sample was taken until the frame that
 *          shows it was painted. The hub says how old a sample is when it sends it, so the way to the browser, on one
 *          machine, is what this leaves out
 * frames   N nodes of 8 GPUs that all change each second, for S seconds, as tiles and as rows that scroll: time between
 *          frames, what the page's main thread did, the heap before and after (collected)
 * heap     with --minutes, and nothing else then: those nodes watched so long, the heap (collected) each minute
 */
import { parseArgs } from "node:util";
import { chrome, demo, hub, open, simulate } from "../tests/kit/lib.mjs";

const { values } = parseArgs({ options: { nodes: { type: "string", default: "500" }, seconds: { type: "string", default: "20" }, loads: { type: "string", default: "9" }, minutes: { type: "string", default: "0" } } });
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

async function frames(url, seconds, scroll) {
    const page = await open(t, url, { width: 1920, height: 1080 });
    const cdp = await page.context().newCDPSession(page);
    await page.waitForSelector(".cell, .dot");
    await page.waitForTimeout(3000);
    await cdp.send("Performance.enable", { timeDomain: "timeTicks" });
    const look = async () => Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value]));
    await cdp.send("HeapProfiler.collectGarbage");
    const before = await look();
    const gaps = await page.evaluate(
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
    await cdp.send("HeapProfiler.collectGarbage");
    const after = await look();
    const share = (name) => `${(((after[name] - before[name]) / (after.Timestamp - before.Timestamp)) * 100).toFixed(1)} %`;
    console.log(`  ${gaps.length} frames: median ${ms(at(gaps, 0.5))}, p95 ${ms(at(gaps, 0.95))}, worst ${ms(Math.max(...gaps))}; over 50 ms: ${gaps.filter((g) => g > 50).length}`);
    console.log(`  main thread busy ${share("TaskDuration")}, of it scripts ${share("ScriptDuration")}, layout ${share("LayoutDuration")}, styles ${share("RecalcStyleDuration")}`);
    console.log(`  heap ${(before.JSHeapUsedSize / 1e6).toFixed(1)} MB, then ${(after.JSHeapUsedSize / 1e6).toFixed(1)} MB; ${after.Nodes} DOM nodes`);
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
    for (const [name, query, scroll] of [["tiles", "?layout=tiles", false], ["rows, scrolling", "?layout=rows", true]]) {
        console.log(`frames, ${values.nodes} nodes x 8 GPUs each second, ${values.seconds} s, ${name}`);
        await frames(h.url + "/" + query, Number(values.seconds), scroll);
    }
}

try {
    if (Number(values.minutes)) {
        const h = await hub(t);
        await simulate(t, h, values.nodes);
        console.log(`heap, ${values.nodes} nodes x 8 GPUs each second, ${values.minutes} minutes`);
        await heap(h.url, Number(values.minutes));
    } else {
        await all();
    }
} finally {
    for (const end of ends) await end();
    await (await chrome()).close();
}
