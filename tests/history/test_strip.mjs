/* The night strip: a row per GPU on the node's page and in the view /history, as a picture, on paper; and that every view prints itself. */
import assert from "node:assert/strict";
import { clean, counts, folder, hub, json, layoutProblems, looksRight, open, refused, run, says, shot, simulate, standing, test, until, words } from "../kit/lib.mjs";
import { views } from "../../web/views.js";

const MUSTER = `${process.env.MUSTER_BIN ?? "build"}/muster`;
const HOUR_MS = 3600000;

/** A hub with two days of three nodes, which are live. */
async function withPast(t) {
    const dir = await folder(t);
    await run(t, MUSTER, "simulate", "--quiet", "--backfill", "2d", "--every", "60s", "--nodes", 3, "--gpus", 4, "--data", dir);
    const h = await hub(t, { dir });
    await simulate(t, h, 3, "--gpus", 4);
    return h;
}

const rows = (page) => page.locator(".night-row[data-row]");
const names = (page) => rows(page).locator(".night-name").allInnerTexts();

test("the cluster's strip: who, work, without work, sorted, filtered, of a week", async (t) => {
    const h = await withPast(t);
    const page = await open(t, h.url, { width: 1440, height: 900 });
    await page.getByRole("link", { name: "History" }).click();
    await counts(rows(page), 12);
    await says(page.locator("h1"), /^GPU history 12 GPUs, .* – now$/);
    await until("people", async () => (await page.locator(".holder em").count()) > 10);
    assert.ok((await page.locator(".night-track .unworked").count()) > 0);
    assert.ok((await page.locator("path.shade9").count()) > 0);
    await says(page.locator(".night-legend"), "darker is busier: utilisation idle booked no data");
    await until("each says what it does now", async () => (await words(rows(page).first().locator(".night-now"))).match(/^(○ free|[●◐] \d+ %)$/));
    await looksRight(page, "strip");
    const first = await names(page);
    await page.locator("select[name=sort]").selectOption("idle");
    await until("another order", async () => `${await names(page)}` !== `${first}`);
    assert.deepEqual((await names(page)).sort(), first.sort());
    await page.goto(`${h.url}/history?filter=node:sim1`);
    await counts(rows(page), 4);
    await page.goto(`${h.url}/history?range=1w`);
    await counts(rows(page), 12);
    await until("days on the axis", async () => (await page.locator(".night-times .day").count()) >= 6);
    for (const [width, dark] of [[1024, true], [390, false], [1920, false]]) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
        await looksRight(page, `strip-${width}`);
    }
});

test("pointing at the strip says who and how much; dragging over it zooms", async (t) => {
    const h = await withPast(t);
    const page = await open(t, `${h.url}/history`, { width: 1440, height: 900 });
    await counts(rows(page), 12);
    const track = rows(page).first().locator(".night-track");
    const b = await standing(track);
    await page.mouse.move(b.x + b.width * 0.4, b.y + 8);
    await says(page.locator(".night-said"), /^sim\d+:0: (\d+ %, [\w, ]+|no data) \w/);
    await counts(page.locator(".night-over .cross"), 1);
    await page.mouse.down();
    await page.mouse.move(b.x + b.width * 0.65, b.y + 8, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=\d+&to=\d+/);
    const q = new URL(page.url()).searchParams;
    assert.ok(Math.abs(Number(q.get("to")) - Number(q.get("from")) - 6 * HOUR_MS) < HOUR_MS / 2, page.url());
    await counts(page.locator(".ends-now"), 0); /* what each does now is not of that time */
    clean(page);
});

/** It is seen, and a pointer reaches it. */
const seen = (name) => name.evaluate((a) => {
    const { left, top, width, height } = a.getBoundingClientRect();
    return a.contains(document.elementFromPoint(left + width / 2, top + height / 2));
});

/** A name in the strip for which there is room. */
const withRoom = (page) => until("a name with room", async () => {
    for (const one of await page.locator(".holder a").all()) if ((await seen(one)) && (await one.boundingBox()).width > 18) return one;
});

test("names in the strip lead to people, by click and by key; a drag that begins on one zooms", async (t) => {
    const h = await withPast(t);
    const page = await open(t, `${h.url}/history`, { width: 1440, height: 900 });
    await counts(rows(page), 12);
    const names = page.locator(".holder a");
    const wide = await withRoom(page);
    const all = await names.all();
    const b = await wide.boundingBox();
    const who = await words(wide);
    await page.mouse.move(b.x + 1, b.y + b.height / 2);
    await page.mouse.down();
    await page.mouse.move(b.x + b.width - 1, b.y + b.height / 2, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/\/history\?from=\d+&to=\d+/);
    await page.goBack();
    await counts(rows(page), 12);
    await until("the whole strip again", async () => (await names.count()) >= all.length); /* nodes that have come since then add to it */
    let hidden = 0; /* without room: a key reaches it all the same, and then it is seen */
    for (const one of all) {
        if (await seen(one)) continue;
        await one.focus();
        await page.keyboard.press("Shift+Tab"); /* so that a key brings the focus */
        await page.keyboard.press("Tab");
        assert.ok(await seen(one), await one.evaluate((a) => a.closest(".night-row").innerText));
        if (++hidden === 3) break;
    }
    assert.ok(hidden);
    await page.mouse.click(b.x + b.width / 2, b.y + b.height / 2);
    await page.waitForURL(`${h.url}/person/${who}`);
    clean(page);
});

test("the strip is taken along as a picture", async (t) => {
    const h = await withPast(t);
    const page = await open(t, `${h.url}/history?filter=node:sim1`, { width: 1440, height: 900 });
    await counts(rows(page), 4);
    for (const [word, head] of [["PNG", "\x89PNG"], ["SVG", "<svg"], ["PDF", "%PDF"]]) {
        const answer = await page.request.get(h.url + (await page.getByRole("link", { name: word, exact: true }).getAttribute("href")));
        const body = await answer.body();
        assert.equal(body.subarray(0, 4).toString("latin1"), head);
        if (word === "SVG") assert.equal(body.toString().match(/>sim1:\d</g)?.length, 4);
    }
    const ways = () => page.locator(".exports a").evaluateAll((all) => all.map((a) => new URL(a.href).searchParams.get("theme") ?? "light"));
    assert.deepEqual(await ways(), ["light", "light", "light"]);
    await page.emulateMedia({ colorScheme: "dark" });
    await until("dark as the page; PDF is for paper", async () => `${await ways()}` === "dark,dark,light");
    const svg = await page.request.get(h.url + (await page.getByRole("link", { name: "SVG", exact: true }).getAttribute("href")));
    assert.match(await svg.text(), />the brighter, /);
    clean(page);
});

test("a long strip shows what is near, and is whole on paper", async (t) => {
    const h = await hub(t);
    await simulate(t, h, 40, "--gpus", 4);
    const page = await open(t, `${h.url}/history`);
    await until("rows", async () => (await rows(page).count()) > 10);
    assert.ok((await rows(page).count()) < 160);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await counts(rows(page), 160);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    await until("what is near", async () => (await rows(page).count()) < 160);
    clean(page);
});

test("what could not be read is asked for again by itself", async (t) => {
    const h = await hub(t);
    await simulate(t, h, 1, "--gpus", 2);
    const page = await open(t, h.url);
    refused(page, 503);
    await page.route("**/api/v1/strip?*", (r) => r.fulfill({ status: 503, json: { detail: "the hub is busy" } }), { times: 1 });
    await page.goto(`${h.url}/history`);
    await says(page.locator(".error"), "the hub is busy");
    await counts(rows(page), 2);
    await counts(page.locator(".error"), 0);
    clean(page);
});

test("where no node has a GPU it says so, and does not ask for a first node", async (t) => {
    const h = await hub(t);
    await simulate(t, h, 1);
    const page = await open(t, h.url);
    await page.route("**/api/v1/strip?*", async (r) => {
        const answer = await r.fetch();
        await r.fulfill({ response: answer, json: { ...(await answer.json()), rows: [] } });
    });
    await page.goto(`${h.url}/history`);
    await says(page.locator(".empty"), "No node has a GPU yet For the nodes see Now.");
    clean(page);
});

test("touching the strip says who, and it stays said", async (t) => {
    const h = await withPast(t);
    const page = await open(t, `${h.url}/history`, { width: 390, height: 844, touch: true });
    await counts(rows(page), 12);
    const b = await standing(rows(page).first().locator(".night-track"));
    await page.touchscreen.tap(b.x + b.width * 0.4, b.y + 8);
    await says(page.locator(".night-said"), /^sim\d+:0: /);
    const { device, name } = (await json(`${h.url}/api/v1/strip`)).rows[0];
    await page.locator(".night-said").getByRole("link", { name }).waitFor();
    const held = await withRoom(page); /* a finger on a name: said, and from there a link */
    const who = await words(held);
    const a = await held.boundingBox();
    await page.touchscreen.tap(a.x + a.width / 2, a.y + a.height / 2);
    await page.locator(".night-said").getByRole("link", { name: who }).tap();
    await page.waitForURL(`${h.url}/person/${who}`);
    await page.goBack();
    await counts(rows(page), 12);
    await page.touchscreen.tap(b.x + b.width * 0.4, b.y + 8);
    await page.locator(".night-said").getByRole("link", { name }).tap();
    await page.waitForURL(`${h.url}/gpu/${device}`);
    clean(page);
});

test("printing a view prints that view", async (t) => {
    const h = await withPast(t);
    const { name, devices } = (await json(h.url + "/api/v1/state")).nodes[0];
    const example = { "/node/": `/node/${name}`, "/gpu/": `/gpu/${devices[0].uuid}`, "/person/": "/person/kim", "/team/": "/team/vision" };
    const page = await open(t, h.url, { width: 1000, height: 900, dark: true });
    refused(page, 404); /* there are no teams here */
    for (const v of views.filter((one) => one.path !== "/")) {
        await page.emulateMedia({ media: "screen" });
        await page.goto(h.url + (example[v.path] ?? v.path));
        await page.locator("main h1, main h2, main form").first().waitFor();
        if (v.path === "/history") await counts(rows(page), 12);
        await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
        await page.emulateMedia({ media: "print" });
        assert.ok(await page.locator("main h1, main h2, main form").first().isVisible(), `${v.title} is on the paper`);
        assert.equal(await page.locator("#print tr").count(), 0, `${v.title}: no list of GPUs`);
        assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)", `${v.title} is light`);
        assert.ok(!(await page.getByRole("link", { name: "Now", exact: true }).isVisible()), `${v.title}: no navigation`);
        await shot(page, `print-${v.title}`);
        assert.deepEqual(await layoutProblems(page), [], v.title);
    }
    clean(page);
});
