/* The static page of `muster render`, served by a plain web server: red and green by the old rule, what pointing, the
 * keyboard and a tap show, how old it is, and that it asks for nothing else. */
import assert from "node:assert/strict";
import { readFile, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { clean, counts, demo, folder, looksRight as looks, open, run, says, shot, test, until } from "../kit/lib.mjs";

const MUSTER = `${process.env.MUSTER_BIN ?? "build"}/muster`;
const LOOKED_AT = ["--refresh", "10m"]; /* a page that loads itself anew while it is looked at cannot be */
const HEAD = ",load,load_mem,gpu_idx,gpu_name,gpu_uuid,hostname,username\n";

const looksRight = (page, name) => looks(page, name, ["meta-refresh"]); /* it is meant to load itself anew */

/** index.html of dir and nothing else; .asked: what was asked for. */
async function serve(t, dir) {
    const asked = [];
    const server = createServer(async (request, reply) => {
        asked.push(request.url);
        if (request.url !== "/") return reply.writeHead(404).end();
        reply.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(await readFile(path.join(dir, "index.html")));
    });
    await new Promise((go) => server.listen(0, "127.0.0.1", go));
    t.after(() => {
        server.closeAllConnections();
        server.close();
    });
    return { url: `http://127.0.0.1:${server.address().port}/`, asked };
}

/** A page of this load_data.csv, so many seconds old. */
async function fromCsv(t, csv, age_s = 10, ...flags) {
    const dir = await folder(t);
    const at = Date.now() / 1000 - age_s;
    await writeFile(path.join(dir, "load_data.csv"), csv);
    await utimes(path.join(dir, "load_data.csv"), at, at);
    assert.equal(await run(t, MUSTER, "render", "-i", path.join(dir, "load_data.csv"), "-o", path.join(dir, "www"), ...LOOKED_AT, ...flags), "");
    return serve(t, path.join(dir, "www"));
}

const hosts = (n, gpus) => {
    let csv = HEAD;
    for (let h = 1; h <= n; h++)
        for (let g = 0; g < gpus; g++) {
            const busy = (h * 7 + g * 3) % 5 < 3;
            csv += `${g},${busy ? 37 + ((h * g * 13) % 60) : 0},${busy ? (h + g) % 50 : 0},${g}, NVIDIA H200, GPU-${h}-${g},gpu${String(h).padStart(2, "0")},${busy ? "kim" : ""}\n`;
        }
    return csv;
};

/** What a row is painted with: the more of red or of green. */
const hue = (row) =>
    row.evaluate((tr) => {
        const [r, g, b] = getComputedStyle(tr).backgroundColor.match(/\d+/g).map(Number);
        return Math.max(r, g, b) - Math.min(r, g, b) < 20 ? "grey" : r > g ? "red" : "green";
    });

test("rows are red and green by the old rule, and show their users", async (t) => {
    const csv = HEAD +
        "0,91,38,0, GeForce GTX 1080 Ti, GPU-fa,host6.domain.tld,\"user5, user5, user7\"\n" +
        "1,4,2,1, GeForce GTX 1080 Ti, GPU-fb,host6.domain.tld,\n" +
        "2,5,0,2, GeForce GTX 1080 Ti, GPU-fc,host6.domain.tld,\n" +
        "3,0,3,3, GeForce GTX 1080 Ti, GPU-fd,host6.domain.tld,\n" +
        "4,0,0,4, GeForce GTX 1080 Ti, GPU-fe,host6.domain.tld,<img src=x onerror=alert(1)>\n" +
        "5,,0,5, GeForce GTX 1080 Ti, GPU-ff,host6.domain.tld,\n";
    const site = await fromCsv(t, csv);
    for (const dark of [false, true]) {
        const page = await open(t, site.url, { dark });
        const rows = page.locator("tbody tr");
        const hues = [];
        for (const row of await rows.all()) hues.push(await hue(row));
        assert.deepEqual(hues, ["red", "green", "red", "red", "red", "grey"]);
        await says(page.locator("header"), /^Cluster Overview 1 of 6 GPUs on 1 host are free\.$/);
        await says(page.locator("footer"), /Last update: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \w+, \d+ (s|min) ago/);
        const tip = rows.nth(0).locator(".tip");
        assert.equal(await tip.isVisible(), false);
        await looksRight(page, `board-one-${dark ? "dark" : "light"}`);
        await rows.nth(0).hover();
        await says(tip, "user5, user7 Memory controller: 38 % GeForce GTX 1080 Ti GPU-fa");
        await rows.nth(4).hover();
        await until("the other tip is gone", async () => !(await tip.isVisible()));
        await says(rows.nth(4).locator(".tip"), /^<img src=x onerror=alert\(1\)> /);
        await shot(page, `board-hover-${dark ? "dark" : "light"}`);
        await page.mouse.move(0, 0);
        await page.keyboard.press("Tab");
        await until("the first row has the focus", () => tip.isVisible());
        clean(page);
    }
    assert.deepEqual([...new Set(site.asked)], ["/"]); /* nothing but the page itself */
});

test("a tap shows the users on a phone", async (t) => {
    const site = await fromCsv(t, hosts(3, 8));
    const page = await open(t, site.url, { width: 360, height: 780, touch: true });
    await looksRight(page, "board-phone");
    const row = page.locator("tbody tr.taken").first();
    await row.tap();
    await until("the tip", () => row.locator(".tip").isVisible());
    await shot(page, "board-phone-tap");
    clean(page);
});

test("it reloads itself, and says so when nobody writes it any more", async (t) => {
    const still = await fromCsv(t, hosts(1, 2), 3600, "--title", "Lab <1>");
    const page = await open(t, still.url);
    await says(page.locator("#old"), /^Old news: nothing here has changed for 6\d min\.$/);
    assert.match(await page.title(), /^Lab <1>$/);
    await looksRight(page, "board-old");
    clean(page);
    const site = await fromCsv(t, hosts(1, 2), 3600, "--refresh", "5s");
    const again = await open(t, site.url);
    await until("the page to load itself again", () => site.asked.filter((u) => u === "/").length >= 2);
    clean(again);
});

test("forty hosts, none, wide and narrow", async (t) => {
    const many = await fromCsv(t, hosts(40, 8));
    for (const [width, dark] of [[1900, false], [1000, true], [340, false]]) {
        const page = await open(t, many.url, { width, height: 1000, dark });
        await counts(page.locator("section"), 40);
        assert.deepEqual(await page.locator("h2").evaluateAll((v) => [v[0].textContent, v[39].textContent]), ["gpu01", "gpu40"]);
        await looksRight(page, `board-many-${width}`);
    }
    const page = await open(t, (await fromCsv(t, HEAD)).url);
    await says(page.locator("main"), /no hosts here yet/);
    await looksRight(page, "board-none");
});

test("from a hub: memory used beside the controller's load, and hosts that cannot be read", async (t) => {
    const h = await demo(t);
    const dir = await folder(t);
    assert.equal(await run(t, MUSTER, "render", "--hub", h.url, "-o", dir, ...LOOKED_AT), "");
    const site = await serve(t, dir);
    for (const [width, dark] of [[1300, false], [1300, true], [380, true]]) {
        const page = await open(t, site.url, { width, height: 1400, dark });
        await looksRight(page, `board-hub-${width}-${dark ? "dark" : "light"}`);
        await says(page.locator("thead").first(), /Compute load Memory controller Memory used, GiB$/);
        const taken = page.locator("tr.taken").first();
        await taken.hover();
        await says(taken.locator(".tip"), /Memory used: [\d.]+ of [\d.]+ GiB.* Memory controller: \d+ %/);
        assert.equal(await hue(taken), "red");
        assert.equal(await hue(page.locator("tr.free").first()), "green");
        await says(page.locator("header"), /GPUs on 4 hosts are free\. 2 hosts cannot be read\. DEMO/);
        await says(page.locator("section", { hasText: "dgx5" }), /^dgx5 8 GPUs · NVIDIA H200 driver not responding for .*[sm]$/);
        clean(page);
    }
});
