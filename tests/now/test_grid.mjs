/* The heat grid: 1,000 nodes of 8 GPUs on one screen, groups, details by pointer, touch and keyboard. The cluster is
 * generated, as a past state. */
import assert from "node:assert/strict";
import { clean, counts, hub, looksRight, open, says, shared, test, until } from "../kit/lib.mjs";

const theHub = shared(hub);

const STATES = ["busy", "busy", "free", "held", "busy", "free", "busy", "hung"];
const TEAMS = [["vision"], ["language"], []];

/** N nodes with 8 GPUs each, the k-th GPU in the k-th state; the last has the most memory. @param {number} n @param {number} at */
function cluster(n, at) {
    const gpu = (i, k) => ({
        uuid: `GPU-${i}-${k}`, index: k, name: "NVIDIA H200", state: STATES[k], reason: "", age_ms: 1000,
        metrics: { util: k === 0 ? 1 : k / 10, mem_used: 4e10, mem_total: 8e10 + i * 1e9, temp: 60, power: 300, power_limit: 600 },
        processes: STATES[k] === "free" ? [] : [{ pid: 1, user: "kim", name: "python", teams: TEAMS[k % 3], mem: 4e10, start: at - 3600000 }],
    });
    const node = (i) => ({ id: `n${i}`, name: `node${i + 1}`, state: "up", reason: "", version: 1, age_ms: 1000, labels: { rack: `r${1 + Math.floor(i / 50)}` }, metrics: {}, devices: STATES.map((_, k) => gpu(i, k)) });
    return { at, demo: false, version: 1, muster: "", nodes: Array.from({ length: n }, (_, i) => node(i)) };
}

/** A page with the grid. */
async function showing(t, nodes, query = "", options = {}) {
    const { url } = await theHub();
    const at = Date.now() - 60000;
    const page = await open(t, url, { width: 1440, height: 900, ...options });
    await page.route("**/api/v1/state?*", (r) => r.fulfill({ json: cluster(nodes, at) }));
    await page.goto(`${url}/?at=${at}${query}`);
    await page.waitForSelector(".heat-at");
    return page;
}

const cellAt = (page) => page.locator(".heat-at");
const fits = (page) => page.evaluate(() => document.documentElement.scrollHeight <= innerHeight);
/** The colour of a pixel of the grid on the screen. */
const pixel = (page, x, y) => page.locator(".heat-grid canvas").evaluate((c, [px, py]) => [...c.getContext("2d").getImageData(px, py, 1, 1).data].slice(0, 3), [x, y]);

test("1,000 nodes with 8 GPUs each are on one screen of 1440 x 900, grouped by rack too, light and dark", async (t) => {
    const page = await showing(t, 1000); /* this many are shown as a grid automatically */
    await says(page.locator("h1"), /^○ 2000 of 8000 free/);
    await until("it fits", () => fits(page));
    await looksRight(page, "grid-1000");
    await cellAt(page).focus();
    await page.keyboard.press("End");
    await until("the last one", async () => (await cellAt(page).getAttribute("aria-label")) === "node1000 GPU 7: not responding");
    const [last, strip] = [await cellAt(page).boundingBox(), await page.locator(".travel").boundingBox()];
    assert.ok(last.y + last.height <= strip.y, "above the strip of the last day");
    await page.keyboard.press("Escape");
    await page.locator("select[name=group]").selectOption("label:rack");
    await counts(page.locator(".heat-grid h2"), 20);
    await says(page.locator(".heat-grid h2").first(), "r1 100 of 400 free");
    await until("it still fits", () => fits(page));
    await page.emulateMedia({ colorScheme: "dark" });
    await looksRight(page, "grid-1000-rack-dark");
    await page.locator("select[name=group]").selectOption("team");
    await counts(page.locator(".heat-grid h2"), 3);
    await says(page.locator(".heat-grid h2").last(), "unassigned 2000 of 3000 free");
    await until("it fits by team", () => fits(page));
});

test("brightness is the chosen metric, the outline is the state", async (t) => {
    const page = await showing(t, 1000);
    const size = (await cellAt(page).boundingBox()).width + 1;
    const inside = (k) => pixel(page, Math.floor(k * size + size / 2), Math.floor(size / 2));
    await until("it is painted", async () => (await inside(0))[2] > 0);
    assert.deepEqual(await inside(0), [0x2f, 0x5f, 0xb3], "what works fully is busy's blue");
    const pale = await inside(1);
    assert.ok(pale[0] > 0xb0, `10 % is pale: ${pale}`);
    assert.deepEqual(await pixel(page, Math.floor(2 * size), 0), [0x18, 0x7a, 0x48], "free has a green outline");
    await page.locator("select[name=heat]").selectOption("memory");
    await until("memory is as full on both", async () => `${await inside(0)}` === `${await inside(1)}`);
    assert.match(page.url(), /heat=memory/);
});

test("after a sort the names stand beside their own GPUs", async (t) => {
    const picture = (page) => page.locator(".heat-grid canvas").evaluate((c) => c.toDataURL());
    const wanted = await picture(await showing(t, 20, "&layout=grid&sort=memory"));
    const page = await showing(t, 20, "&layout=grid");
    assert.notEqual(await picture(page), wanted, "by name it is another one");
    await page.locator("select[name=sort]").selectOption("memory");
    await until("it is painted as if it had come so", async () => (await picture(page)) === wanted);
});

test("what a cell is: by pointer, by one tab stop and arrows, by finger", async (t) => {
    const page = await showing(t, 400, "&layout=grid");
    const details = page.locator(".details");
    const { width } = await cellAt(page).boundingBox();
    const grid = await page.locator(".heat-grid canvas").boundingBox();
    await page.mouse.move(grid.x + 3.5 * (width + 1), grid.y + 3);
    await page.mouse.move(grid.x + 3.5 * (width + 1), grid.y + 4);
    await says(details, /^node1 · GPU 3 NVIDIA H200 ◐ held by kim/);
    await page.mouse.move(2, 2);
    await details.waitFor({ state: "detached" });
    await counts(page.locator(".heat-grid a"), 1);
    await cellAt(page).focus();
    for (const [key, want] of [["Home", "node1 GPU 0"], ["ArrowRight", "node1 GPU 1"], ["ArrowDown", /^node\d\d GPU 1/], ["ArrowUp", "node1 GPU 1"], ["ArrowLeft", "node1 GPU 0"]]) {
        await page.keyboard.press(key);
        await until(`${key}: ${want}`, async () => ((label) => (want instanceof RegExp ? want.test(label) : label.startsWith(want)))(await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "")));
    }
    await says(details, /^node1 · GPU 0/);
    const focused = (label) => until(`${label} has the focus`, () => page.evaluate((want) => document.activeElement?.getAttribute("aria-label")?.startsWith(want), label));
    await page.mouse.move(grid.x + 3.5 * (width + 1), grid.y + 4); /* it does not take the focus from the grid */
    await focused("node1 GPU 3");
    await page.keyboard.press("Home");
    await focused("node1 GPU 0");
    await says(details, /^node1 · GPU 0/);
    await page.keyboard.press("Enter");
    await until("its page", () => new URL(page.url()).pathname === "/gpu/GPU-0-0");
});

test("a finger taps a cell to be told", async (t) => {
    const page = await showing(t, 20, "&layout=grid", { width: 390, height: 844, touch: true });
    await looksRight(page, "grid-390");
    const cell = await cellAt(page).boundingBox();
    await page.touchscreen.tap(cell.x + 1.5 * (cell.width + 1), cell.y + cell.height / 2);
    await says(page.locator(".details"), /^node1 · GPU 1/);
    assert.equal(new URL(page.url()).pathname, "/");
    clean(page);
});
