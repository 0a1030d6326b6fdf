/* The page of a run: what it did in a sentence, its GPUs over its own time; and where nothing is measured, that this is so. */
import assert from "node:assert/strict";
import path from "node:path";
import { clean, counts, hub, json, looksRight, open, refused, run, says, simulate, test, token, TOP, until } from "../kit/lib.mjs";

async function label(h, admin, body) {
    const r = await fetch(h.url + "/api/v1/jobs", { method: "POST", headers: { Authorization: `Bearer ${admin}` }, body: JSON.stringify(body) });
    assert.equal(r.status, 201);
    return r.json();
}

test("a run has a page", async (t) => {
    const h = await hub(t, { flags: ["--usage-price", "Test=3.60", "--runs-after", "0"] });
    const admin = await token(t, h, "admin");
    const out = await run(t, "/usr/bin/python3", path.join(TOP, "tests/jobs/measured.py"), h.url, await token(t, h, "agent"), "dgx1");
    const [uuid, began] = out.trim().split(" ");
    const job = await label(h, admin, { name: "train.py", kind: "record", node: "dgx1", devices: [uuid], person: "kim", start: Number(began), end: Number(began) + 600000, attributes: { command: "python train.py", wandb: "acme/llm/3f9a", url: "https://wandb.ai/acme/llm/runs/3f9a" } });
    const page = await open(t, `${h.url}/run/${job.id}`, { height: 1400 });
    await page.locator(".run .sentence").waitFor();
    await says(page.locator(".run .sentence"), "1 x Test for 10 m: active 62 %, waited 38 %, 30 % of the tensor peak; 83 Wh, 0.60 EUR");
    assert.equal(await page.locator(".run .lead").getByRole("link", { name: "kim" }).getAttribute("href"), "/person/kim");
    assert.match(await page.locator(".advice").innerText(), /waits for the host.*active 62 %.*try more data-loader workers/s);
    await counts(page.locator(".timeline .chart canvas"), 4);
    await until("its processes", async () => /python dgx1:0/.test((await page.locator("section[aria-label=processes]").innerText()).replace(/\s+/g, " ")));
    const facts = (await page.locator("aside").innerText()).replaceAll("\u00a0", " ");
    assert.match(facts, /31 GiB of 80 GiB/);
    assert.match(facts, /unused memory\s+49 GiB/);
    const png = await fetch(h.url + (await page.getByRole("link", { name: "PNG" }).getAttribute("href")));
    assert.equal(png.headers.get("content-type"), "image/png");
    assert.equal(await page.locator("aside").getByRole("link", { name: "acme/llm/3f9a" }).getAttribute("href"), "https://wandb.ai/acme/llm/runs/3f9a");
    await looksRight(page, "run");
    await page.setViewportSize({ width: 390, height: 1400 });
    await page.emulateMedia({ colorScheme: "dark" });
    await looksRight(page, "run-narrow-dark");
    const silent = await label(h, admin, { name: "silent.py", kind: "record", node: "dgx1", devices: [uuid], person: "lee", start: Number(began) });
    await page.goto(`${h.url}/run/${silent.id}`);
    await page.locator(".run .sentence").waitFor();
    const words = (await page.locator(".run .sentence").innerText()).replaceAll("\u00a0", " ");
    assert.match(words, /^1 x Test for 9 m 5\d s: no data since .*: dgx1 (sends none|is offline); 83 Wh, 0\.(59|60) EUR$/);
    assert.match(await page.locator(".run .lead").innerText(), /no end reported/);
    assert.equal(await page.locator(".advice").count(), 0);
    await page.goto(`${h.url}/person/kim`);
    const advised = page.getByRole("region", { name: "biggest savings this week" });
    await advised.locator("li").waitFor();
    assert.match((await advised.innerText()).replace(/\s+/g, " "), /1 run, 0\.2 GPU-hours( \(\d+\s?% of the [\d.]+ held\))?, 0\.1 of them effective\..* 0\.1 GPU-hours, 0\.2\d EUR, train\.py: waits for the host \(.*\): try more data-loader workers/);
    assert.equal(await advised.getByRole("link", { name: "train.py" }).getAttribute("href"), `/run/${job.id}`);
    await page.route("**/api/v1/advise?*", async (r) => {
        const got = await (await r.fetch()).json();
        await r.fulfill({ json: { ...got, runs: 20, gpu_hours: 412, looked_hours: 380, sampled: 1 } });
    });
    await page.reload();
    await advised.locator("li").waitFor();
    assert.match((await advised.innerText()).replace(/\s+/g, " "), /20 runs, 412\.0 GPU-hours( \(\d+\s?% of the [\d.]+ held\))?; analysed: the largest 1, 380\.0 GPU-hours, 0\.1 of them effective; for 1 large run only a sample of GPUs was analysed/);
    await page.getByRole("link", { name: "train.py" }).last().click();
    await page.locator(".run .sentence").waitFor();
    clean(page);
});

test("processes of a run are of its person, in the order of its GPUs", async (t) => {
    const h = await hub(t);
    const out = await run(t, "/usr/bin/python3", path.join(TOP, "tests/jobs/measured.py"), h.url, await token(t, h, "agent"), "dgx1");
    const [uuid, began] = out.trim().split(" ");
    const job = await label(h, await token(t, h, "admin"), { name: "train.py", kind: "record", node: "dgx1", devices: [uuid], person: "kim", start: Number(began), end: Number(began) + 600000 });
    const page = await open(t, h.url);
    const asked = [];
    await page.route("**/verdict", async (r) => {
        const got = await (await r.fetch()).json();
        const more = [...Array(12).keys()].map((n) => ({ ...got.devices[0], node: `dgx${12 - n}`, node_id: `${12 - n}`, gpu: 0, device: `GPU-${12 - n}` }));
        await r.fulfill({ json: { ...got, devices: more } });
    });
    await page.route("**/api/v1/history?*", (r) => r.fulfill({ json: { from: Number(began), to: Number(began) + 600000, step: 150000, series: [] } }));
    await page.route("**/api/v1/processes?*", (r) => {
        const q = new URL(r.request().url()).searchParams;
        const node = q.get("node");
        asked.push(`${node} ${q.get("person")} ${q.get("user")}`);
        const span = { node: `dgx${node}`, node_id: node, device: `GPU-${node}`, index: 0, user: "kim", person: "k", program: "python", first: Number(began), last: Number(began) + 60000, ended: true, memory_max: null, processes: 1, there: false };
        return r.fulfill({ json: { spans: q.get("user") || node === "12" ? [span, { ...span, device: "GPU-other" }] : [] } });
    });
    await page.goto(`${h.url}/run/${job.id}`);
    const told = page.locator("section[aria-label=processes]");
    await told.waitFor();
    assert.deepEqual(await told.locator("tbody td:nth-of-type(1)").allInnerTexts(), [5, 6, 7, 8, 9, 10, 11, 12].map((n) => `dgx${n}:0`));
    assert.match(await told.innerText(), /processes of 8 of its 12 nodes$/);
    assert.deepEqual(asked.filter((a) => /^1[12] /.test(a)).sort(), ["11 kim null", "11 null kim", "12 kim null"]);
    clean(page);
});

test("a run of which nothing is measured says so, and one that is not there", async (t) => {
    const h = await hub(t);
    await simulate(t, h, 1, "--gpus", 4);
    const [node] = await until("the node", async () => (await json(h.url + "/api/v1/state")).nodes.filter((n) => n.devices.length === 4));
    const admin = await token(t, h, "admin");
    const job = await label(h, admin, { name: "train.py", kind: "record", devices: node.devices.map((d) => d.uuid), person: "kim", start: Date.now() - 60000 });
    const page = await open(t, `${h.url}/run/${job.id}`, { height: 1400 });
    await page.locator(".run .sentence").waitFor();
    assert.match(await page.locator(".run .sentence").innerText(), /^4 x .*: efficiency is not measured: .*\(not efficiency\)/);
    assert.equal(await page.locator(".advice").count(), 0);
    await until("its charts", async () => (await page.locator(".multiples").count()) === 4);
    await looksRight(page, "run-not-measured");
    const nothing = await label(h, admin, { name: "x", kind: "record", start: Date.now() - 60000, attributes: { wandb: "a/b/c", url: "javascript:alert(1)" } });
    await page.goto(`${h.url}/run/${nothing.id}`);
    await says(page.locator(".run .main"), "no GPU of it is known");
    assert.match(await page.locator("aside").innerText(), /a\/b\/c/);
    assert.equal(await page.locator("aside").getByRole("link", { name: "a/b/c" }).count(), 0); /* what a label says is no address */
    refused(page, 404);
    await page.goto(`${h.url}/run/0000000000000001`);
    await page.getByText("There is no run 0000000000000001").waitFor();
    clean(page);
});
