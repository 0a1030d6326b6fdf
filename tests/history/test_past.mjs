/* A GPU and a node: charts of any stretch of time, users, facts, events; and the way there in two clicks. */
import assert from "node:assert/strict";
import { clean, counts, folder, hub, json, looksRight, open, run, says, shared, simulate, standing, test, until, words } from "../kit/lib.mjs";

const MUSTER = `${process.env.MUSTER_BIN ?? "build"}/muster`;

/** A hub with nine days of two nodes, and the same nodes live. */
const withPast = shared(async (t) => {
    const dir = await folder(t);
    await run(t, MUSTER, "simulate", "--quiet", "--backfill", "9d", "--every", "60s", "--nodes", 2, "--gpus", 4, "--data", dir);
    const h = await hub(t, { dir });
    await simulate(t, h, 2, "--gpus", 4);
    h.nodes = (await json(h.url + "/api/v1/state")).nodes;
    return h;
});

/** How many pixels of a chart are not background. */
const ink = (page, title) =>
    page.locator("figure.chart", { has: page.locator(".name", { hasText: new RegExp(`^${title}$`) }) }).locator("canvas").evaluate((c) => {
        const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
        let n = 0;
        for (let i = 3; i < data.length; i += 4) n += data[i] > 0;
        return n;
    });

/** Which share of a chart's width its line covers, 0 to 1: columns that have a colour, which grid and words have not. */
const covered = (page, title) =>
    page.locator("figure.chart", { has: page.locator(".name", { hasText: new RegExp(`^${title}$`) }) }).locator("canvas").evaluate((c) => {
        const { data, width, height } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
        const begin = Math.ceil((64 * width) / c.clientWidth); /* the axis */
        let n = 0;
        for (let x = begin; x < width; x++)
            for (let y = 0; y < height; y++) {
                const at = 4 * (y * width + x);
                const [low, , high] = [data[at], data[at + 1], data[at + 2]].sort((a, b) => a - b);
                if (data[at + 3] > 100 && high - low > 60) {
                    n++;
                    break;
                }
            }
        return n / (width - begin);
    });

/** How many dashed lines lie across a chart: rows that are half ink; those of the grid are whole. */
const dashed = (page, title) =>
    page.locator("figure.chart", { has: page.locator(".name", { hasText: new RegExp(`^${title}$`) }) }).locator("canvas").evaluate((c) => {
        const { data, width, height } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
        const begin = Math.ceil((64 * width) / c.clientWidth);
        let n = 0;
        for (let y = 0; y < height / 3; y++) {
            let turns = 0; /* from ink to none and back */
            for (let x = begin + 1; x < width; x++) turns += data[4 * (y * width + x) + 3] > 150 !== data[4 * (y * width + x - 1) + 3] > 150;
            n += turns > (width - begin) / 6;
        }
        return n;
    });

test("a GPU's first hour is drawn whole, where samples were few as well", async (t) => {
    const h = await withPast(); /* a sample a minute, and one a second since it began */
    const page = await open(t, `${h.url}/gpu/${h.nodes[0].name}:0`, { height: 1200 });
    await page.waitForSelector("figure.chart canvas");
    for (const title of ["utilisation", "power", "temperature"]) await until(`${title} is drawn whole`, async () => (await covered(page, title)) > 0.9);
    assert.doesNotMatch(await words(page.locator("body")), /\btiers?\b|\braw\b/i);
    clean(page);
});

test("the last week of a GPU: two clicks", async (t) => {
    const h = await withPast();
    const page = await open(t, h.url, { height: 1200 });
    await page.locator(".cell").first().click();
    await page.waitForSelector("figure.chart canvas");
    await page.getByRole("button", { name: "1w" }).click();
    await page.getByText("one point per 30 minutes").waitFor();
    for (const title of ["utilisation", "memory used", "power", "temperature"]) await until(`${title} is drawn`, async () => (await ink(page, title)) > 2000);
    await says(page.locator(".lanes"), /^users \w+/);
    await until("users", async () => (await page.locator(".track i").count()) > 5);
    const name = page.locator(".lane-name").first();
    assert.equal(await name.getByRole("link").getAttribute("href"), `/person/${await words(name)}`);
    assert.equal(new URL(page.url()).searchParams.get("range"), "1w");
    await looksRight(page, "gpu-week");
    await page.setViewportSize({ width: 390, height: 1400 });
    await page.emulateMedia({ colorScheme: "dark" });
    await looksRight(page, "gpu-week-narrow-dark");
});

test("charts that lack what the hub cannot read say so", async (t) => {
    const h = await withPast();
    const page = await open(t, `${h.url}/gpu/${h.nodes[0].name}:0`);
    await page.waitForSelector("figure.chart canvas");
    assert.equal(await page.getByText("history is damaged").count(), 0);
    await page.route("**/api/v1/history?*", async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), damaged: 3 } }));
    await page.reload();
    await says(page.locator(".timeline .error"), "Stored history is damaged: some of these values cannot be read and may be missing.");
    clean(page);
});

test("dragging over one chart zooms all, the URL says so, and back goes back", async (t) => {
    const h = await withPast();
    const { uuid } = h.nodes[0].devices[0];
    const page = await open(t, `${h.url}/gpu/${uuid}?range=1w`, { height: 1200 });
    const over = page.locator(".u-over").first();
    await page.getByText("one point per 30 minutes").waitFor(); /* the week is there: what is drawn anew forgets a drag */
    await over.waitFor();
    const b = await standing(over);
    await page.mouse.move(b.x + b.width * 0.25, b.y + 20);
    await page.mouse.down();
    await page.mouse.move(b.x + b.width * 0.5, b.y + 20, { steps: 5 });
    await page.mouse.up();
    await page.waitForURL(/from=\d+&to=\d+/);
    const q = new URL(page.url()).searchParams;
    const span = Number(q.get("to")) - Number(q.get("from"));
    assert.ok(Math.abs(span - 7 * 86400000 / 4) < 3600000 * 2, `${span}`);
    await page.getByText("one point per 10 minutes").waitFor(); /* finer than the week's */
    assert.equal(await page.locator(".cross").count(), 0); /* what the mouse is over is another moment now */
    await page.mouse.move(b.x + b.width * 0.75, b.y + 20);
    const at = new Date(Number(q.get("from")) + 0.75 * span);
    const minutes = (await words(page.locator("figure.chart .values .dim").first())).match(/:(\d\d):\d\d/)[1];
    const off = Math.abs(Number(minutes) - at.getMinutes());
    assert.ok(Math.min(off, 60 - off) <= 6, `it tells of minute ${minutes} where the mouse is over ${at}`); /* one bin is ten minutes, told by its middle */
    await page.reload(); /* a link reproduces the view */
    await page.getByText("one point per 10 minutes").waitFor();
    await page.goBack();
    await page.getByText("one point per 30 minutes").waitFor();
    clean(page);
});

test("what is pointed at is told by every chart and lane, to a finger as well", async (t) => {
    const h = await withPast();
    const page = await open(t, `${h.url}/gpu/${h.nodes[0].name}:0?range=1d`, { width: 390, height: 1400, touch: true });
    const over = page.locator(".u-over").first();
    await over.waitFor();
    const lanes = await page.locator(".lane").count();
    assert.ok(lanes > 0);
    const b = await standing(over);
    await page.touchscreen.tap(b.x + b.width / 2, b.y + 30);
    await counts(page.locator(".plot .cross"), 4);
    await counts(page.locator(".track .cross"), lanes);
    await says(page.locator(".lanes h2"), /^users .+, .*\d+:\d\d:\d\d/);
    assert.equal(new Set(await page.locator("figure.chart .values .dim").allInnerTexts()).size, 1);
    const left = await page.locator(".plot .cross, .track .cross").evaluateAll((all) => all.map((c) => Math.round(c.getBoundingClientRect().left)));
    assert.ok(Math.max(...left) - Math.min(...left) <= 1, `${left}`); /* one line through all */
    await looksRight(page, "gpu-pointed-at");
    await page.touchscreen.tap(b.x + 5, b.y - 60);
    await counts(page.locator(".cross"), 0);
});

test("limits are drawn and said, and names are the same on page and command line", async (t) => {
    const h = await withPast();
    const place = `${h.nodes[0].name}:0`;
    const page = await open(t, `${h.url}/gpu/${place}?range=1d`, { height: 1200 });
    await page.getByRole("img", { name: /^power: .*; limit: 700\sW$/ }).waitFor();
    await page.getByRole("img", { name: /^memory used: .*; total memory: 140\sGiB$/ }).waitFor();
    for (const title of ["power", "memory used"]) await until(`a dashed line across ${title}`, async () => (await dashed(page, title)) === 1);
    assert.match(await run(t, MUSTER, "history", place, "mem_used", "temp", "--hub", h.url, "--last", "10m"), new RegExp(`${place} memory used +${place} temperature`));
    clean(page);
});

test("nothing jumps when charts arrive", async (t) => {
    const h = await withPast();
    for (const path of [`/gpu/${h.nodes[0].devices[0].uuid}`, `/node/${h.nodes[0].name}`]) {
        const page = await open(t, "about:blank", { height: 1200 });
        await page.addInitScript(() => {
            window.moved = [];
            new PerformanceObserver((list) => {
                for (const e of list.getEntries()) for (const s of e.sources) window.moved.push(`${s.node?.className ?? s.node?.nodeName} ${JSON.stringify(s.previousRect)} ${JSON.stringify(s.currentRect)}`);
            }).observe({ type: "layout-shift", buffered: true });
        });
        let hold = true;
        await page.route("**/api/v1/history?*", async (r) => { /* what is read comes when all else stands */
            await until("the rest of the page", () => !hold);
            await r.continue();
        });
        await page.goto(h.url + path);
        await page.getByText("reading …").first().waitFor();
        await standing(page.locator("figure.chart").last());
        const before = await page.locator("figure.chart").evaluateAll((all) => all.map((f) => Math.round(f.getBoundingClientRect().top)));
        await page.evaluate(() => (window.moved.length = 0));
        hold = false;
        await page.locator(".u-over").first().waitFor();
        await page.locator(".lanes").waitFor();
        assert.deepEqual(await page.locator("figure.chart").evaluateAll((all) => all.map((f) => Math.round(f.getBoundingClientRect().top))), before, path);
        assert.deepEqual(await page.evaluate(() => window.moved), [], path);
    }
});

test("the cursor is shared: every chart tells of the same moment", async (t) => {
    const h = await withPast();
    const { uuid } = h.nodes[0].devices[0];
    const page = await open(t, `${h.url}/gpu/${uuid}?range=1d`, { height: 1200 });
    const over = page.locator(".u-over").first();
    await over.waitFor();
    let left = 0;
    await until("the same moment in each chart", async () => {
        const b = await standing(over); /* a chart that was drawn anew has not seen the mouse */
        left = 1 - left;
        await page.mouse.move(b.x + b.width / 3 - left, b.y + 30);
        const v = await page.locator("figure.chart .values .dim").allInnerTexts();
        return v.length === 4 && new Set(v).size === 1;
    });
    clean(page);
});

test("NODE:N leads to the GPU's one address, and the tab is called by it", async (t) => {
    const h = await hub(t);
    await simulate(t, h, 2, "--gpus", 2);
    const { name, devices } = (await json(h.url + "/api/v1/state")).nodes[1];
    const page = await open(t, `${h.url}/gpu/${name}:1?range=6h`);
    await says(page.locator("h1"), new RegExp(`^${name} · GPU 1 `));
    assert.equal(page.url(), `${h.url}/gpu/${devices[1].uuid}?range=6h`);
    await until("the tab's title", async () => (await page.title()).startsWith(`${name}:1 · `));
    await page.evaluate((to) => { /* a link within the page is not asked of the hub */
        const a = Object.assign(document.createElement("a"), { href: to });
        document.querySelector("main").append(a);
        a.click();
    }, `/gpu/${name}:0`);
    await page.waitForURL(`${h.url}/gpu/${devices[0].uuid}`);
    await until("the tab's title", async () => (await page.title()).startsWith(`${name}:0 · `));
    await page.goto(`${h.url}/gpu/${name}:9`);
    await says(page.locator("main"), `${name} has no GPU 9 ${name} has 2 GPUs.`);
    await looksRight(page, "gpu-none-such");
});

test("the right edge is live", async (t) => {
    const h = await withPast();
    const { uuid } = h.nodes[0].devices[0];
    const page = await open(t, `${h.url}/gpu/${uuid}`, { height: 1200 });
    await page.locator(".u-over").first().waitFor();
    const value = () => words(page.locator("figure.chart", { hasText: "power" }).locator(".value"));
    const first = await value();
    await until("another value of power", async () => (await value()) !== first);
    clean(page);
});

test("a node: its night strip, a chart per GPU, its own metrics, facts, processes, what happened", async (t) => {
    const h = await withPast();
    const page = await open(t, `${h.url}/node/${h.nodes[0].name}?range=1d`, { height: 1600 });
    await page.waitForSelector("figure.chart canvas");
    await counts(page.locator(".cell"), 4);
    await counts(page.locator(".night-row[data-row]"), 4);
    await counts(page.locator(".multiples"), 3);
    await counts(page.locator(".multiples").first().locator("figure.chart .value"), 4);
    await until("the node's own is drawn", async () => (await ink(page, "CPU")) > 1000);
    await says(page.locator("aside"), /RAM [\d.]+ GiB of .* driver [\d.]+/);
    await looksRight(page, "node");
    await page.setViewportSize({ width: 390, height: 1600 });
    await looksRight(page, "node-narrow");
});

test("any metric can be drawn, and a time with nothing in it says so", async (t) => {
    const h = await withPast();
    const { uuid } = h.nodes[0].devices[0];
    const page = await open(t, `${h.url}/gpu/${uuid}`, { height: 1200 });
    await page.waitForSelector("figure.chart canvas");
    await page.locator(".pick summary").click();
    await page.getByLabel("SM clock", { exact: true }).check();
    await page.locator("figure.chart", { hasText: "SM clock" }).waitFor();
    await until("the URL says so", () => /m=util%2Cmem_used%2Cpower%2Ctemp%2Cclock_sm/.test(page.url()));
    await looksRight(page, "gpu-metrics");
    await page.goto(`${h.url}/gpu/${uuid}?from=1500000000000&to=1500003600000`);
    await page.getByText("No data for this period").waitFor();
    await looksRight(page, "gpu-nothing");
});

const isNow = async (page) => !page.url().includes("at=") && (await page.locator(".banner.past").count()) === 0;

test("the whole cluster as it was: the slider, the URL, play, and back to now", async (t) => {
    const h = await withPast();
    const page = await open(t, h.url);
    await page.waitForSelector(".cell");
    await page.waitForSelector(".use-strip path"); /* without a click */
    assert.ok((await page.locator(".time-axis span").count()) >= 4, "an axis");
    const slider = page.getByLabel("Time shown");
    await slider.evaluate((el) => {
        el.value = Number(el.max) - 6 * 3600000;
        el.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await page.getByText("as it was on").waitFor();
    const at = Number(new URL(page.url()).searchParams.get("at"));
    const then = await json(`${h.url}/api/v1/state?at=${at}`);
    const free = then.nodes.flatMap((n) => n.devices).filter((d) => d.state === "free").length;
    await says(page.locator("h1"), new RegExp(`^(○ )?${free || "none"} of 8 free`));
    await looksRight(page, "travel");
    await page.route("**/api/v1/state?*", (r) => r.fulfill({ json: then })); /* whatever is stored */
    for (const [days, range] of [[3, "1w"], [10, "1m"], [40, "1m"]]) {
        await page.goto(`${h.url}/?at=${Date.now() - days * 86400000}`);
        await until(`the slider has ${days} days ago`, async () => (await page.locator(".travel select").inputValue()) === range);
    }
    await page.unroute("**/api/v1/state?*");
    await page.goto(`${h.url}/?at=${at}`); /* a link reproduces the view */
    await page.getByText("as it was on").waitFor();
    assert.equal(await page.locator(".travel select").inputValue(), "1d");
    await page.getByRole("button", { name: "play" }).click();
    await until("play goes on", () => Number(new URL(page.url()).searchParams.get("at")) > at);
    await page.getByRole("button", { name: "pause" }).click();
    await page.mouse.move(1, 1); /* off the GPUs: they tell about themselves when pointed at */
    await page.setViewportSize({ width: 390, height: 800 });
    await looksRight(page, "travel-narrow");
    await page.getByRole("button", { name: "back to now" }).click();
    await until("now again", () => isNow(page));
    clean(page);
});

/* A minute goes by between what is shown and what is done with it. */
for (const [what, go] of [
    ["the button", () => [...document.querySelectorAll("button")].find((b) => b.textContent === "back to now").click()],
    ["the end of the slider", () => {
        const slider = document.querySelector(".travel input[type=range]");
        slider.value = slider.max;
        slider.dispatchEvent(new Event("input", { bubbles: true }));
    }],
])
    test(`back to now by ${what} is now, however long one looked at the past`, async (t) => {
        const h = await withPast();
        const page = await open(t, `${h.url}/?at=${Date.now() - 6 * 3600000}`);
        await page.locator(".banner.past").waitFor();
        await page.locator(".travel button", { hasText: "back to now" }).waitFor();
        await page.evaluate(`{ const real = Date.now; Date.now = () => real() + 61000; (${go})(); }`);
        await until("now", () => isNow(page));
        clean(page);
    });

for (const [what, of] of [
    ["how long ago", () => "-30h"],
    ["an ISO time", (ms) => new Date(ms).toISOString()],
    ["seconds", (ms) => Math.round(ms / 1000)],
])
    test(`a moment in the address as ${what} moves the slider`, async (t) => {
        const h = await withPast();
        const asked = Date.now() - 30 * 3600000;
        const page = await open(t, `${h.url}/?at=${of(asked)}`);
        await page.locator(".banner.past").waitFor();
        const slider = page.getByLabel("Time shown");
        await until("its hand is there", async () => Math.abs(Number(await slider.inputValue()) - asked) < 600000);
        assert.equal(await page.locator(".travel select").inputValue(), "1w"); /* the day does not have it */
        assert.doesNotMatch(await words(page.locator(".moment")), /^now /);
        await page.getByRole("button", { name: "back to now" }).click();
        await until("now", () => isNow(page));
        clean(page);
    });

test("a GPU and a node nobody knows are said to be unknown", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url + "/node/nowhere");
    await page.getByText("There is no node called nowhere").waitFor();
    await looksRight(page, "node-unknown");
    await page.goto(h.url + "/events");
    await page.getByText("no events").waitFor();
    await looksRight(page, "events-none");
});
