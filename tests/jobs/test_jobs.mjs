/* Jobs beside the charts of a GPU and of a node: a lane each, with its parts. */
import assert from "node:assert/strict";
import { clean, counts, hub, json, looksRight, open, says, simulate, standing, test, token, until } from "../kit/lib.mjs";

test("a Dask job and its dags stand under the charts, and nothing where there was none", async (t) => {
    const h = await hub(t);
    await simulate(t, h, 1, "--gpus", 2);
    const [node] = await until("the node", async () => (await json(h.url + "/api/v1/state")).nodes.filter((n) => n.devices.length === 2));
    const [first, second] = node.devices;
    const admin = await token(t, h, "admin");
    const post = async (body) => {
        const r = await fetch(h.url + "/api/v1/jobs", { method: "POST", headers: { Authorization: `Bearer ${admin}` }, body: JSON.stringify({ kind: "dask", person: "kim", ...body }) });
        assert.equal(r.status, 201);
        return r.json();
    };
    const now = Date.now();
    const job = await post({ name: "etl job 0", devices: [first.uuid], start: now - 40 * 60000 });
    for (let i = 0; i < 3; i++) await post({ name: `etl job 0 dag ${i}`, parent: job.id, devices: [first.uuid], start: now - (40 - 10 * i) * 60000, end: now - (31 - 10 * i) * 60000 });
    await post({ name: "from long ago", devices: [first.uuid], start: now - 30 * 3600000, end: now - 29 * 3600000 });

    const found = (title, uuid) => ({ rule: title, title, evidence: `12 pauses of ${title}`, remedy: "read faster", now: true, devices: [uuid] });
    const page = await open(t, h.url);
    await page.route("**/api/v1/jobs/*/verdict", (route) => route.fulfill({ json: { advice: [found("pauses", first.uuid), found("stalls", second.uuid)] } }));
    await page.setViewportSize({ width: 1280, height: 1400 });
    await page.goto(`${h.url}/gpu/${first.uuid}`);
    await says(page.locator(".lead .note"), "pauses (12 pauses of pauses): read faster etl job 0"); /* as the run's page has it, of this GPU alone */
    const jobs = page.locator(".joblanes");
    await jobs.waitFor();
    await says(jobs, "jobs etl job 0 kim");
    assert.equal(await jobs.getByRole("link", { name: "kim" }).getAttribute("href"), "/person/kim");
    await until("it runs", async () => /^etl job 0 \(dask, kim\) from .*: still running$/.test(await jobs.locator(".track").first().getAttribute("aria-label")));
    await counts(jobs.locator(".track.parts i"), 3);
    const bar = await standing(jobs.locator(".track").first().locator("i"));
    const track = await standing(jobs.locator(".track").first());
    const minutes = (bar.width / track.width) * 60;
    assert.ok(minutes > 39 && minutes < (Date.now() - now) / 60000 + 41, `${minutes}`); /* forty, and those since then */
    await looksRight(page, "gpu-jobs");
    await page.setViewportSize({ width: 390, height: 1400 });
    await page.emulateMedia({ colorScheme: "dark" });
    await looksRight(page, "gpu-jobs-narrow-dark");

    await page.route("**/api/v1/jobs?*", async (route) => {
        const got = await (await route.fetch()).json();
        for (const j of got.jobs) if (j.id === job.id) Object.assign(j, { state: "unfinished", data_to: j.start + 20 * 60000 });
        await route.fulfill({ json: got });
    });
    await page.reload();
    await until("its end is not known", async () => !/still running/.test(await jobs.locator(".track").first().getAttribute("aria-label")));
    const known = await standing(jobs.locator(".track").first().locator("i"));
    assert.ok(Math.abs((known.width / (await standing(jobs.locator(".track").first())).width) * 60 - 20) < 2, "the bar ends with its data");
    await page.unroute("**/api/v1/jobs?*");

    await page.goto(`${h.url}/node/${node.id}`);
    await page.locator(".joblanes").waitFor();
    await says(page.locator(".joblanes"), "jobs etl job 0 kim");

    await page.goto(`${h.url}/gpu/${second.uuid}`);
    await page.locator(".lanes").waitFor();
    assert.equal(await page.locator(".joblanes").count(), 0);
    clean(page);
});
