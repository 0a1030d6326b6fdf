/* Now: find a free GPU without a click and its user with one hover; filters, stable places, every kind of cluster. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { clean, counts, demo, folder, hub, json, layoutProblems, looksRight, MUSTER, open, ownPort, refused, run, says, shared, shot, simulate, start, test, token, TOP, until, words } from "../kit/lib.mjs";

/** One demo for all read-only tests. */
const theDemo = shared(demo);

const heading = (page) => words(page.locator("h1"));
const hasFocus = (where) => where.evaluate((e) => e === document.activeElement);
const cell = (page, node, index) => page.locator(`section[aria-label^="${node},"] [data-uuid]`).nth(index);

test("which GPU is free: no click", async (t) => {
    const page = await open(t, (await theDemo()).url);
    await page.waitForSelector(".cell");
    await says(page.locator("h1"), /^○ \d+ of 48 free: \d+ on dgx/);
    await says(page.locator(".counts"), /^● \d+ busy, utilisation \d+ % ◐ \d+ held.* ◌ 8 offline ✕ 8 not responding [\d.]+ kW 6 nodes/);
    await counts(page.locator(".cell"), 48);
    await until("kim's GPU", async () => /^dgx1 GPU 0: busy, kim, \d+\s% used, memory \d+\s% full$/.test(await cell(page, "dgx1", 0).getAttribute("aria-label")));
    await looksRight(page, "now-1280-light");
});

test("the head of the page adds up to all GPUs, and is what muster ls and the hub say", async (t) => {
    const h = await theDemo();
    const page = await open(t, h.url);
    const said = async () => `${await heading(page)} ${await words(page.locator(".counts"))}`;
    const plain = (text) => text.replace(/ 6 nodes.*/, "").replace(/^○ /, "").replace(/ [●◐◌✕] | (?=[\d.]+ k?W$)/g, " · ");
    await page.waitForSelector(".counts .hung");
    await until("the same sentence", async () => plain(await said()) === (await json(`${h.url}/api/v1/summary`)).text);
    const [free, all, busy, held, offline, hung] = (await said()).match(/(\d+) of (\d+) free.* (\d+) busy.* (\d+) held.* (\d+) offline.* (\d+) not responding/).slice(1).map(Number);
    assert.equal(free + busy + held + offline + hung, all);
    assert.equal(all, 48);
    const ls = await run(t, path.join(process.env.MUSTER_BIN ?? `${TOP}/build`, "muster"), "ls", "--hub", h.url);
    assert.match(ls, new RegExp(`^${free} of 48 free: .*\n\\d+ busy, utilisation \\d+ % · \\d+ held.* · 8 offline · 8 not responding · [\\d.]+ kW$`, "m"));
    assert.equal(await page.title(), `${free} free · muster`);
    await page.locator(".counts a", { hasText: "not responding" }).click();
    await says(page.locator("h1"), "8 of 48 match, 0 free");
    await says(page.locator(".counts"), /^✕ 8 not responding 1 node/);
    clean(page);
});

test("money is said of GPUs that are held without work for hours, where a price is configured", async (t) => {
    const { url } = await theDemo();
    const state = await json(`${url}/api/v1/state`);
    const hours = (n) => state.at - n * 3600000;
    const gpus = state.nodes[0].devices;
    gpus.forEach((d, i) => Object.assign(d, i < 2 ? { state: "held", idle_since: hours(i ? 3 : 1) } : { state: "free" }));
    for (const [price, want] of [[2.5, /^◐ 2 held, 1 idle for over 2 h, cost so far 7\.50 EUR /], [undefined, /^◐ 2 held, 1 idle for over 2 h [\d.]/]]) {
        const page = await open(t, url);
        await page.route("**/api/v1/state?*", (r) => r.fulfill({ json: { ...state, nodes: [{ ...state.nodes[0], devices: gpus.map((d) => ({ ...d, price })) }] } }));
        await page.goto(`${url}/?at=${state.at}`);
        await says(page.locator(".counts"), want);
        assert.equal(await page.title(), "muster", "of the past no count is in the title");
    }
});

test("a GPU whose kernel spins is busy with somebody, and said to do almost nothing", async (t) => {
    const { url } = await theDemo();
    const state = await json(`${url}/api/v1/state`);
    const busy = state.nodes.flatMap((n) => n.devices).find((d) => d.state === "busy" && d.processes.length);
    busy.reason = "runs, but does almost nothing";
    Object.assign(busy.metrics, { work: 0.0076, flops: 3.25 });
    const page = await open(t, url);
    await page.route("**/api/v1/state?*", (r) => r.fulfill({ json: state }));
    await page.goto(`${url}/?at=${state.at}`); /* a past state gets no updates */
    await page.locator(`.cell[data-uuid="${busy.uuid}"]`).hover();
    await says(page.locator(".details .sentence"), /busy by .*: runs, but does almost nothing$/);
    await says(page.locator(".details dl"), /utilisation\s*\d+\s% efficiency\s*1\s%/);
});

test("a tab that nobody looks at goes on saying how many are free", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url);
    await page.clock.install();
    await page.goto(url);
    await page.waitForSelector(".cell");
    await page.route("**/api/v1/summary", (r) => r.fulfill({ json: { free: 47 } }));
    await page.evaluate(() => {
        Object.defineProperty(document, "hidden", { get: () => true });
        document.dispatchEvent(new Event("visibilitychange"));
    });
    refused(page, 400); /* with a clock that runs ahead, the strip requests future data */
    await page.clock.runFor(30000); /* its connection is closed by now */
    await page.clock.runFor(60000);
    await until("the new count", async () => (await page.title()) === "47 free · muster");
    clean(page);
});

test("a tab that nobody looks at asks for nothing else, and once when somebody comes back", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url);
    await page.clock.install();
    const turn = (hidden) => page.evaluate((to) => {
        Object.defineProperty(document, "hidden", { get: () => to, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    let asked = [];
    page.on("request", (r) => r.url().includes("/api/") && asked.push(new URL(r.url()).pathname));
    refused(page, 400); /* the clock runs ahead of the hub's */
    for (const [path, question] of [["/events", "/api/v1/events"], ["/people", "/api/v1/people"], ["/bookings", "/api/v1/bookings"]]) {
        await page.goto(url + path);
        await until(question, () => asked.includes(question));
        await turn(true);
        await page.clock.runFor(30000); /* its connection is closed by now */
        asked = [];
        await page.clock.runFor(120000);
        assert.deepEqual(asked.filter((p) => [question, "/api/v1/summary"].includes(p)), [], path);
        await turn(false);
        await until(`${question} again`, () => asked.includes(question));
        asked = [];
    }
    clean(page);
});

test("the last day is always in sight: an axis, where alerts began, and what a moment was", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url);
    const hour = 3600000;
    const alert = (id, severity, ago) => ({ id, rule: "driver-hung", severity, state: "resolved", place: "dgx5", text: "it hung", since: Date.now() - ago * hour });
    const notice = { ...alert(5, "info", 6), notice: true };
    const rows = [alert(1, "critical", 12), alert(2, "warning", 2), alert(3, "critical", 50), alert(4, "warning", 2.4), notice];
    await page.route(/\/api\/v1\/alerts(\?all)?$/, (r) => r.fulfill({ json: { at: Date.now(), firing: 2, rows, silences: [], channels: [] } }));
    await page.goto(url);
    await page.waitForSelector(".use-strip path");
    await counts(page.locator(".began"), 3); /* the third is older than a day, the last is a notice */
    await says(page.locator(".moment"), "now back to now ▲ 2 alerts");
    await says(page.getByRole("navigation").locator(".badge"), "2"); /* the same number */
    assert.ok((await page.locator(".time-axis span").count()) >= 7);
    const box = await page.locator(".plot-time").boundingBox();
    assert.ok(box.y + box.height < 800, "within the window");
    const mark = await page.locator(".began.critical").boundingBox();
    const x = mark.x + mark.width / 2;
    assert.ok(Math.abs(x - (box.x + box.width / 2)) < 3, "half a day ago is in the middle");
    await page.mouse.move(x, box.y + 20);
    await says(page.locator(".tip"), /^.*\d\d:\d\d, \d+ % used ▲ dgx5: driver-hung$/);
    for (const [width, dark] of [[1280, false], [1280, true], [390, false]]) {
        await page.mouse.move(2, 2);
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
        await counts(page.locator(".began"), width < 800 ? 2 : 3); /* close ones are merged in a narrow window */
        await looksRight(page, `now-strip-${width}-${dark ? "dark" : "light"}`);
    }
    await page.locator(".plot-time input").click({ position: { x: box.width / 4, y: 20 } });
    await page.getByText("as it was on").waitFor();
    await page.getByRole("button", { name: "back to now" }).click();
    await until("now again", () => !page.url().includes("at="));
    clean(page);
});

test("the addresses that GPU Monitor's page had are this page", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, `${url}/index.php`);
    for (const path of ["/index.php", "/index.php?content"]) {
        await page.goto(url + path);
        await counts(page.locator(".numbers [data-uuid]"), 48); /* it was a table */
        await says(page.locator("nav [aria-current=page]"), "Now");
    }
    clean(page);
});

test("it is right on a wide screen, on a phone, in the dark, as rows, cards, tiles and a table", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url, { width: 1920, height: 1080 });
    for (const [layout, what] of [["rows", ".cell"], ["cards", ".cell"], ["tiles", ".dot"], ["table", ".numbers"]]) {
        await page.goto(`${url}/?layout=${layout}`);
        await page.waitForSelector(what);
        for (const [width, height] of [[1920, 1080], [390, 844]])
            for (const colorScheme of ["light", "dark"]) {
                await page.setViewportSize({ width, height });
                await page.emulateMedia({ colorScheme });
                await page.evaluate(() => new Promise((go) => requestAnimationFrame(() => setTimeout(go)))); /* it knows its width */
                await looksRight(page, `now-${layout}-${width}-${colorScheme}`);
            }
    }
});

test("who holds it and since when: one hover", async (t) => {
    const page = await open(t, (await theDemo()).url);
    await cell(page, "dgx1", 4).hover();
    const details = page.locator(".details");
    await details.waitFor();
    const text = await says(details, /dgx1 · GPU 4 NVIDIA H200 ◐ (held|busy) by lee for \d+ h/);
    assert.match(text, /user program memory duration lee \S+ [\d.]+ GiB \d+ h/);
    assert.match(text, /utilisation \d+ % efficiency \d+ % .*memory [\d.]+ GiB of [\d.]+ GiB temperature \d+ °C power \d+ W of \d+ W/);
    assert.match(text, /\d+ s old/);
    await looksRight(page, "now-hover");
    await cell(page, "dgx5", 0).hover();
    await until("the hung one", async () => (await words(details)).includes("driver not responding for"));
    await says(details, /last data:/);
    await page.mouse.move(2, 2);
    await details.waitFor({ state: "detached" });
    clean(page);
});

test("a GPU that tells nothing is unknown, and a process that is gone is a Zombie", async (t) => {
    const ssh = path.join(await folder(t), "ssh");
    const rows = ["V 77", "A GPU-a, 77, 512", "G 0, 2, GPU-a, NVIDIA H200, 0, 600, 81920", "G 1, 2, GPU-b, NVIDIA H200, [N/A], [N/A], 81920"];
    const titles = ["A gpu_uuid, pid, used_gpu_memory [MiB]", "G index, count, uuid, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB]"];
    const echo = (/** @type {string[]} */ lines) => lines.map((l) => `echo '${l}'`).join("\n");
    await writeFile(ssh, `#!/bin/sh\n${echo(titles)}\nwhile :; do\n${echo(rows)}\nsleep 1\ndone\n`, { mode: 0o755 });
    const h = await hub(t, { flags: ["--nodes", "gpu01", "--ssh-program", ssh, "--ssh-every", "1s"] });
    const page = await open(t, h.url);
    await says(page.locator("h1"), /^none of 2 free/);
    await says(page.locator(".counts"), /◐ 1 held .*\? 1 unknown/);
    const details = page.locator(".details");
    await cell(page, "gpu01", 0).hover();
    await says(details, /◐ held by Zombie.*: a process that is gone still holds memory/);
    await cell(page, "gpu01", 1).hover();
    await says(details, /\? unknown: its driver reports neither use nor memory/);
    await looksRight(page, "now-unknown");
    const gone = "a process that is gone still holds memory";
    await page.goto(`${h.url}/?layout=table`);
    await page.locator(`.proc[title^="${gone}"]`, { hasText: "77@Zombie" }).waitFor();
    await page.goto(`${h.url}/node/gpu01`);
    await page.locator(`.processes td [title="${gone}"]`, { hasText: "Zombie" }).waitFor();
    assert.equal(await page.locator(".processes a", { hasText: "Zombie" }).count(), 0);
    await page.goto(`${h.url}/people`);
    await says(page.locator("main"), /./);
    assert.doesNotMatch(await words(page.locator("main")), /Zombie/);
    clean(page);
});

test("a free GPU says how to take it", async (t) => {
    const page = await open(t, (await theDemo()).url);
    await cell(page, "dgx2", 3).hover();
    const details = page.locator(".details");
    await until("how to take it", async () => (await details.count()) && (await words(details)).includes("CUDA_VISIBLE_DEVICES=3"));
    await says(details, /○ free for \d+/);
    clean(page);
});

test("a finger taps to be told; the panel has the way on", async (t) => {
    const page = await open(t, (await theDemo()).url, { width: 390, height: 844, touch: true });
    await cell(page, "dgx1", 0).tap();
    const details = page.locator(".details");
    await details.waitFor();
    await says(details, /busy by kim for/);
    assert.equal(new URL(page.url()).pathname, "/");
    await looksRight(page, "now-tap");
    await details.getByRole("button", { name: "close" }).tap();
    await details.waitFor({ state: "detached" });
    clean(page);
});

test("a filter is the hub's: what fits stays, an error is marked and takes nothing away, the link reproduces it", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url);
    await page.waitForSelector(".cell");
    await page.keyboard.press("/");
    await until("the filter has the focus", () => hasFocus(page.locator("#filter")));
    await page.keyboard.type("user:kim");
    await until("kim's alone", async () => (await page.locator(".cell").count()) === 4);
    await says(page.locator("h1"), /^4 of 48 match, 0 free$/);
    await says(page.locator(".head .title"), /^dgx1 (NVIDIA )?H200 4 of 8$/); /* not x4: it has eight */
    await until("the URL says so", () => new URL(page.url()).searchParams.get("filter") === "user:kim");
    await page.locator("#filter").fill("kim");
    await says(page.locator("h1"), /^4 of 48 match \(kim: person\), 0 free$/); /* a bare word, and its interpretation */
    await page.locator("#filter").fill("fre");
    await says(page.locator("#main, main"), /fre: no person, node, model or program; did you mean 'free'\?/);
    await page.locator("#filter").fill("user:kim");
    await until("kim's again", async () => (await page.locator(".cell").count()) === 4);
    await page.keyboard.type(" mem>much");
    const error = page.locator("#filter-error");
    await error.waitFor();
    await says(error, /expected a size such as 40G/);
    await says(error.locator("mark"), "m");
    assert.equal(await page.locator(".cell").count(), 4); /* the old content stays */
    refused(page, 400);
    await looksRight(page, "now-filter-error");
    await page.keyboard.press("Escape");
    await until("all of them", async () => (await page.locator(".cell").count()) === 48);
    await page.goto(url + "/?filter=hung&sort=free&group=model&layout=cards");
    await until("the hung ones", async () => (await page.locator(".card .cell").count()) === 8);
    await until("the filter is shown", async () => (await page.locator("#filter").inputValue()) === "hung");
    await says(page.locator(".group"), /^H200 0 of 8 free on 1 node$/);
    await page.goto(url + "/?filter=user:nobody");
    await page.getByText("The filter matches nothing").waitFor();
    await looksRight(page, "now-no-match");
    await page.getByRole("link", { name: "Show all GPUs" }).click();
    await until("all of them again", async () => (await page.locator(".cell").count()) === 48);
    await page.locator("h1 a.free").click();
    await until("the free ones", async () => new URL(page.url()).searchParams.get("filter") === "free" && /match/.test(await heading(page)));
    clean(page);
});

test("sort, group and layout are in the URL; the layout is remembered", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url);
    await page.waitForSelector(".cell");
    const names = () => page.locator(".node .name").allInnerTexts();
    await until("all in order", async () => `${await names()}` === "dgx1,dgx2,dgx3,dgx4,dgx5,dgx6");
    await page.locator("select[name=sort]").selectOption("free");
    await until("the most free first", async () => `${(await names()).slice(0, 2)}` === "dgx2,dgx4");
    await page.locator("select[name=group]").selectOption("model");
    await says(page.locator(".group"), /^H200 \d+ of 48 free on 6 nodes$/);
    await page.locator("select[name=layout]").selectOption("tiles");
    await page.waitForSelector(".dot");
    await until("the URL has it all", () => new URL(page.url()).search === "?sort=free&group=model&layout=tiles");
    await page.goto(url);
    await page.waitForSelector(".dot");
    clean(page);
});

test("everything is within reach of the keyboard", async (t) => {
    const page = await open(t, (await theDemo()).url);
    await page.waitForSelector(".cell");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await looksRight(page, "now-help");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await cell(page, "dgx1", 0).focus();
    for (const [key, node, index] of [["ArrowRight", "dgx1", 1], ["ArrowDown", "dgx2", 1], ["ArrowDown", "dgx3", 1], ["ArrowLeft", "dgx3", 0], ["ArrowUp", "dgx2", 0]]) {
        await page.keyboard.press(key);
        await until(`${key} to ${node}:${index}`, () => hasFocus(cell(page, node, index)));
    }
    const details = page.locator(".details");
    await until("focus tells as hovering does", async () => (await details.count()) && (await words(details)).startsWith("dgx2 · GPU 0"));
    await page.keyboard.press("Escape");
    await details.waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await until("the GPU's page", () => new URL(page.url()).pathname.startsWith("/gpu/"));
    await page.keyboard.press("g");
    await page.keyboard.press("n");
    await page.waitForSelector(".cell");
    await until("the first view", () => new URL(page.url()).pathname === "/");
    clean(page);
});

test("light and dark can be switched, and stay so", async (t) => {
    const page = await open(t, (await theDemo()).url);
    await page.waitForSelector(".cell");
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    const button = page.getByRole("button", { name: /^Colours/ });
    await button.click(); /* from the system's theme to light */
    assert.equal(await background(), light);
    await button.click();
    const dark = await until("another background", async () => (await background()) !== light && background());
    await page.reload();
    await page.waitForSelector(".cell");
    await until("it stays so", async () => (await background()) === dark);
    clean(page);
});

test("nothing moves for those who ask for that; on paper it is a table", async (t) => {
    const page = await open(t, (await theDemo()).url, { context: { reducedMotion: "reduce" } });
    await page.waitForSelector(".cell .bar");
    assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("*")].map((e) => getComputedStyle(e)).filter((s) => s.transitionDuration !== "0s" || s.animationName !== "none").length), 0);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await page.emulateMedia({ media: "print" });
    await counts(page.locator("#print tbody tr"), 48);
    assert.ok(!(await page.locator("#app").isVisible()));
    await says(page.locator("#print tbody tr").first(), /^dgx1 0 NVIDIA H200 busy kim \d+ % [\d.]+ GiB [\d.]+ GiB$/);
    await shot(page, "now-print");
    assert.deepEqual(await layoutProblems(page), []);
    clean(page);
});

test("without nodes it says how to add one, and the first one appears by itself", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url);
    await page.getByText("Add the first one").waitFor();
    await says(page.locator("h1"), "no nodes yet");
    await says(page.locator("main"), /Other machines cannot reach this hub: .* Start it with --listen 0\.0\.0\.0:8765, or set --address /);
    assert.ok(!(await words(page.locator("main"))).includes("curl"));
    await looksRight(page, "now-none");
    const reached = await hub(t, { flags: ["--address", "https://gpus.example"] });
    await says((await open(t, reached.url)).locator("main"), /curl -fsS https:\/\/gpus\.example\/install \| sh -s -- TOKEN/);
    await simulate(t, h, 2, "--gpus", 2);
    await until("both", async () => (await page.locator(".cell").count()) === 4);
    await says(page.locator("h1"), /of 4 free/);
    await looksRight(page, "now-two");
    await page.setViewportSize({ width: 390, height: 844 });
    await looksRight(page, "now-two-390");
});

test("a hub that goes away is missed and found again", async (t) => {
    const h = await hub(t, { port: ownPort() });
    const sim = await simulate(t, h, 2);
    const page = await open(t, h.url);
    await until("16 GPUs", async () => (await page.locator(".cell").count()) === 16);
    await page.locator(".travel").waitFor();
    await until("its later parts", () => page.evaluate(() => performance.getEntriesByType("resource").some((e) => e.name.includes("/now/paper-") && e.responseEnd > 0)));
    await h.p.stop();
    const lost = page.getByRole("alert");
    await lost.waitFor();
    await says(lost, /^connection lost, data is \d+ s old \(.+; trying again\)$/);
    assert.equal(await page.locator(".cell").count(), 16);
    await until("it gets older", async () => !/ 0 s old/.test(await words(lost)));
    await shot(page, "now-lost");
    await hub(t, { dir: h.dir, port: h.port });
    await lost.waitFor({ state: "detached" });
    await until("16 GPUs again", async () => (await page.locator(".cell").count()) === 16);
    await sim.stop();
    assert.ok(page.wrong.every((w) => /ERR_|Failed to load resource/.test(w)), page.wrong.join("\n"));
});

/** Whether this browser loads a module again after a failure: some remember failures forever. */
async function fetchesAgain(page) {
    let asked = 0;
    await page.route("**/probe.js", (r) => (asked++ ? r.fulfill({ contentType: "text/javascript", body: "" }) : r.abort()));
    const came = () => page.evaluate(() => import("/probe.js").then(() => true, () => false));
    assert.equal(await came(), false);
    const again = await came();
    await page.unroute("**/probe.js");
    return again;
}

test("what did not come while the hub was away comes when it is back, or the page says how to get it", async (t) => {
    const h = await hub(t, { port: ownPort() });
    const sim = await simulate(t, h, 2);
    const page = await open(t, `${h.url}/add`);
    const again = await fetchesAgain(page);
    await page.route(/\/assets\/(now\/paper|history\/travel|book\/view)-/, (r) => r.abort());
    await page.route("**/assets/later-*.css", (r) => r.abort());
    await page.goto(h.url);
    await says(page.getByRole("alert"), /^a part of the page could not be loaded/);
    await page.getByRole("link", { name: "Alerts" }).click();
    await page.locator(".alert-part").first().waitFor(); /* without its style */
    await page.getByRole("link", { name: "Bookings" }).click();
    await page.getByText("This view could not be loaded").waitFor();
    await h.p.stop();
    await says(page.getByRole("alert"), /^connection lost/);
    await page.unrouteAll();
    await hub(t, { dir: h.dir, port: h.port });
    await until("its style", () => page.evaluate(() => [...document.styleSheets].some((s) => s.href?.includes("/assets/later-"))));
    if (!again) await page.getByRole("alert").getByRole("link", { name: "Load the page again" }).click();
    await says(page.locator("h1"), /book/i);
    await page.getByRole("alert").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Now" }).click();
    await page.locator(".travel").waitFor();
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await counts(page.locator("#print tbody tr"), 16);
    await sim.stop(); /* while its hub runs: otherwise it waits for one */
});

/** Rows are adjacent and numbered, survive when others come and go, and are updated near the window, too. */
async function rowsKeepTheirPlaces(page) {
    const row = (name) => page.locator(`section[aria-label^="${name},"]`);
    const look = () =>
        page.evaluate(() => {
            const boxes = [...document.querySelectorAll(".near")].map((e) => ({ ...e.getBoundingClientRect().toJSON(), i: Number(e.getAttribute("aria-posinset")), of: e.getAttribute("aria-setsize") }));
            return boxes.map((b, k) => (k && Math.abs(b.top - boxes[k - 1].bottom) > 0.1 ? "a gap" : b.of !== "200" || b.i !== boxes[0].i + k ? `counted ${b.i} of ${b.of}` : "")).filter(Boolean);
        });
    assert.deepEqual(await look(), []);
    await row("sim15").evaluate((e) => (e.known = true));
    await page.evaluate(() => scrollTo(0, 800));
    await row("sim40").waitFor();
    assert.deepEqual(await look(), []);
    assert.ok(await row("sim15").evaluate((e) => e.known));
    const beyond = page.locator(".near").last();
    const said = await words(beyond.locator(".cells"));
    await until("news of what is below the window", async () => (await words(beyond.locator(".cells"))) !== said);
}

/** Lines that are not drawn do not keep later data. */
async function oldNewsIsLetGo(page) {
    const seen = await page.evaluateHandle(async () => {
        const { live, onChange } = (await import("/assets/kit/live.js")).$kit_live;
        const all = [];
        onChange(() => all.push(new WeakRef(live.nodes)));
        return all;
    });
    let left;
    await until("most news is let go", async () => {
        await page.requestGC();
        left = await page.evaluate((all) => [all.length, all.filter((r) => r.deref()).length], seen);
        return left[0] > 30 && left[1] < 6;
    }).catch((late) => {
        throw new Error(`${late.message}; of ${left[0]} there are ${left[1]}`);
    });
}

test("200 nodes fill a screen with marks; as rows only what is near the window exists", async (t) => {
    const h = await hub(t);
    await simulate(t, h, 200);
    const page = await open(t, h.url, { width: 1920, height: 1080 });
    await until("1600 marks", async () => (await page.locator(".dot").count()) === 1600);
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight <= innerHeight));
    await looksRight(page, "now-200");
    await page.goto(h.url + "/?layout=rows");
    await page.waitForSelector(".cell");
    assert.ok((await page.locator(".row").count()) < 80);
    await looksRight(page, "now-200-rows");
    await rowsKeepTheirPlaces(page);
    await oldNewsIsLetGo(page);
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.locator('section[aria-label^="sim200,"]').waitFor();
    await shot(page, "now-200-rows-end");
    assert.deepEqual(await layoutProblems(page), []);
    assert.equal(await page.getByRole("list").getByRole("listitem").last().getAttribute("aria-posinset"), "200");
    const place = () => page.locator('section[aria-label^="sim190,"]').evaluate((s) => s.getBoundingClientRect().top);
    let before;
    await until("it stands still", async () => before === (before = await place()));
    const version = (await json(h.url + "/api/v1/state?node=sim190")).version;
    await until("news", async () => (await json(h.url + "/api/v1/state?node=sim190")).version > version);
    assert.equal(await place(), before);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await counts(page.locator("#print tbody tr"), 1600);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(h.url + "/?layout=rows");
    await page.waitForSelector(".cell");
    await shot(page, "now-200-390");
    assert.deepEqual(await layoutProblems(page), []);
    clean(page);
});

test("a node that was replaced by its next news is let go", async (t) => {
    const page = await open(t, (await theDemo()).url);
    await page.waitForSelector(".cell");
    const first = await page.evaluateHandle(async () => {
        const { live } = (await import("/assets/kit/live.js")).$kit_live;
        const began = live.nodes[0].version; /* hooks may hold the data of the start, but no later data */
        while (live.nodes[0].version < began + 2) await new Promise((go) => setTimeout(go, 50));
        const n = live.nodes[0];
        return { live, id: n.id, ref: new WeakRef(n), version: n.version };
    });
    await until("news", () => page.evaluate((f) => f.live.nodes[0].version > f.version + 2, first));
    await until("it is gone", async () => {
        await page.requestGC();
        return page.evaluate((f) => !f.ref.deref(), first);
    });
});

test("what changes between a first rendering and its effect is not missed", async (t) => {
    const page = await open(t, (await theDemo()).url);
    await page.waitForSelector(".cell");
    await page.evaluate(async () => {
        const { $preact: { h, render }, $kit_router: { setQuery, usePlace }, $access_session: { session, useSession } } = await import("/assets/main.js");
        while (!session.known) await new Promise((go) => setTimeout(go, 20)); /* the hub's response would remove the name again */
        for (const say of [() => usePlace().query.get("turn"), () => useSession().person]) {
            const box = document.createElement("output");
            document.body.append(box);
            render(h(say), box);
        }
        setQuery({ turn: "second" }); /* effects run after the next frame */
        session.person = "kim";
    });
    for (const [i, what] of ["second", "kim"].entries()) await until(what, async () => (await words(page.locator("body > output").nth(i))) === what);
    clean(page);
});

test("a GPU that needs service says so in its cell, its panel, the table and on its page", async (t) => {
    const why = "needs service: a memory row could not be remapped";
    const dir = await folder(t);
    await writeFile(path.join(dir, "trace.csv"), "t,muster_gpu_utilization_ratio,muster_gpu_memory_used_bytes,muster_gpu_remap_failed\n0,0,0,1\n600,0,0,1\n");
    const h = await hub(t);
    start(t, MUSTER, "agent", "--hub", h.url, "--token", await token(t, h, "enroll"), "--name", "gpu01", "--collector", "replay", "--replay", path.join(dir, "trace.csv"), "--state-dir", path.join(dir, "agent"), "--interval", "200ms");
    const device = await until("its GPU", async () => (await json(h.url + "/api/v1/state")).nodes[0]?.devices.find((d) => d.service));
    const page = await open(t, h.url);
    const cell = page.locator(`[data-uuid="${device.uuid}"]`);
    await until("its cell", async () => (await cell.getAttribute("aria-label"))?.endsWith(why));
    await cell.hover();
    await says(page.locator(".details .sentence"), new RegExp(`^○ free.*; ${why}$`));
    await page.goto(`${h.url}/?layout=table`);
    await says(page.locator("td.procs"), why);
    await page.goto(`${h.url}/gpu/${device.uuid}`);
    await says(page.locator(".lead .sentence"), new RegExp(`; ${why}$`));
    await counts(page.locator(".lead").getByText("needs service"), 1);
    clean(page);
});

test("labels of sources that try to be scripts are just text", async (t) => {
    const dir = await folder(t);
    await writeFile(path.join(dir, "sd.json"), JSON.stringify([{ targets: ["gpu01"], labels: { rack: "a1", note: "<img src=x onerror=boom()>" } }]));
    const h = await hub(t, { flags: ["--sources", `file_sd:${dir}/sd.json`, "--ssh-program", "/bin/false"] });
    await until("its labels", async () => (await json(h.url + "/api/v1/state")).nodes[0]?.labels?.rack === "a1");
    const page = await open(t, h.url);
    await page.exposeFunction("boom", () => page.wrong.push("a label was run"));
    await page.goto(h.url + "/node/gpu01");
    const labels = page.locator('dl[aria-label="Labels"]');
    await until("they are shown", async () => (await labels.count()) === 1);
    await says(labels, "note <img src=x onerror=boom()> rack a1");
    assert.equal(await page.locator("main img").count(), 0);
    clean(page);
});

test("names that try to be scripts are just names", async (t) => {
    const h = await hub(t);
    await run(t, "/usr/bin/python3", path.join(TOP, "tests/now/evil.py"), h.url, await token(t, h, "enroll"));
    const count = (await json(h.url + "/api/v1/nodes")).length;
    assert.ok(count >= 5);
    const page = await open(t, h.url);
    await page.exposeFunction("boom", () => page.wrong.push("a name was run"));
    for (const [query, selector] of [["", ".cell"], ["?layout=tiles", ".dot"], ["?group=model", ".cell"]]) {
        await page.goto(`${h.url}/${query}`);
        await until("all of them", async () => (await page.locator(selector).count()) === count);
        assert.ok((await words(page.locator("main"))).includes("<img src=x onerror=boom()>"));
    }
    await page.locator(".cell").first().hover();
    await until("its users", async () => (await page.locator(".details").count()) && (await words(page.locator(".details"))).includes("<script>boom()"));
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main svg:not(.use-strip), main script, #print img, #print svg, #print script, .details b").length), 0);
    for (const path_ of ["/people", "/events", `/node/${encodeURIComponent("<img src=x onerror=boom()>")}`, `/gpu/${encodeURIComponent("GPU-<b>0")}`]) {
        await page.goto(h.url + path_);
        await page.waitForSelector("main > *");
        assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script, main b").length), 0);
    }
    clean(page);
});

test("the page is small: under 100 KB on the wire, and nothing of it comes twice", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, "about:blank");
    page.wrong = [];
    const seen = [];
    page.on("response", (r) => r.url().startsWith(url) && !r.url().includes("/api/") && seen.push(r));
    await page.goto(url);
    await page.waitForSelector(".cell");
    let total = 0;
    for (const r of seen) {
        await r.finished();
        const { responseBodySize, responseHeadersSize } = await r.request().sizes();
        total += responseBodySize + responseHeadersSize;
    }
    assert.ok(seen.length > 3);
    assert.equal(new Set(seen.map((r) => r.url())).size, seen.length);
    assert.ok(total < 100_000, `${total} bytes`);
});
