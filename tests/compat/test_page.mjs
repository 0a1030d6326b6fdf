/* Users of GPU Monitor and vesta on our page: its files in a folder, its colours; names, RAM, CPU and disks whole, wide and on a phone, as rows, cards and the table. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { clean, counts, folder, hub, json, looksRight, open, refused, says, shared, test, token, until } from "../kit/lib.mjs";

const HOSTS = ["host1.domain.tld.example", "h2"];
const DEAD = "process 31415 has ended but its children keep the memory: 31416";
const NO_WORK = "efficiency is not measured: nvidia-smi does not tell it; utilisation is not efficiency";
const stamp = (ago_s) => new Date(Date.now() - ago_s * 1000).toISOString().replace("T", " ").replaceAll("-", "/").slice(0, 23);

/** What the node scripts leave of a host: GPU 0 is raj's and busy, 1 is free. */
async function leave(dir, host) {
    const gpu = (i, used, util) => `${i}, GPU-${host}-${i}, Tesla V100-PCIE-16GB, ${used}, 16160, ${util}, 40, 61, ${stamp(0)}\n`;
    const files = {
        gpus: gpu(0, 8018, 92) + gpu(1, 4, 0),
        processes: `${stamp(1)}, GPU-${host}-0, 6464, /opt/conda/bin/python, 31415\n`,
        users: '{"31415": ["31416"]}\n31416 raj                  Sun Nov 15 08:00:00 2026\n',
        status: ` ${stamp(0).slice(11, 19)} up 3 days,  1:02,  2 users,  load average: 16.52, 0.58, 0.59\nMem:          64000       12000       40000         100       12322       51000\n32\n`,
        disks: "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 4000 1000 3000 25% /\n/dev/sdb1 2000 1600 85 95% /var/opt/gpu_monitor\n",
    };
    for (const [kind, text] of Object.entries(files)) await writeFile(path.join(dir, `${host}_${kind}.csv`), text);
}

async function book(url, body) {
    const r = await fetch(`${url}/api/v1/bookings`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const made = await r.json();
    assert.equal(r.status, 201, JSON.stringify(made));
    return made;
}

/** One hub for all that only look. */
const theHub = shared(async (t) => {
    const dir = path.join(await folder(t), "drop");
    await mkdir(dir);
    for (const host of HOSTS) await leave(dir, host);
    const h = await hub(t, { flags: ["--files-watch", dir, "--files-zone", "UTC", "--page-colours", "gpu-monitor", "--page-about", "ask <kim>", "--bookings-auth", "open"] });
    const whole = (n) => n.metrics?.load1 && n.metrics.disk_avail && n.devices.length === 2 && n.devices[0].processes?.length;
    await until("both hosts", async () => (await json(`${h.url}/api/v1/state`)).nodes.filter(whole).length === 2);
    await book(h.url, { person: "mia", gpus: `${HOSTS[0]}:0`, for: "3h", comment: "thesis" });
    await book(h.url, { person: "raj", gpus: `${HOSTS[1]}:0`, for: "50h" });
    const over = await book(h.url, { person: "zoe", gpus: `${HOSTS[1]}:1`, for: "3h" });
    await until("it has been theirs for a moment", () => Date.now() > over.from + 2000);
    assert.equal((await fetch(`${h.url}/api/v1/bookings/${over.id}?me=zoe`, { method: "DELETE" })).status, 200);
    return h;
});

/** What is cut off although it was written. */
const cutNames = (page) =>
    page.evaluate(() => {
        const text = document.createRange();
        const isCut = (e) => (text.selectNodeContents(e), text.getBoundingClientRect().width > e.getBoundingClientRect().width); /* by a hair: two letters less and an ellipsis */
        return [...document.querySelectorAll(".node .name, .shares, .shares span")].filter(isCut).map((e) => e.textContent);
    });

test("names, RAM, CPU and every disk are there whole: wide and on a phone, as rows and as cards", async (t) => {
    const { url } = await theHub();
    const page = await open(t, url);
    for (const layout of ["rows", "cards"])
        for (const [width, height] of [[1920, 1080], [1280, 800], [390, 844]]) {
            await page.setViewportSize({ width, height });
            await page.goto(`${url}/?layout=${layout}`);
            await counts(page.locator(".cell"), 4);
            for (const host of HOSTS) await says(page.locator(`section[aria-label^="${host},"] .shares`), "RAM 19 % CPU 52 % /var/opt/gpu_monitor 95 % / 25 %");
            assert.deepEqual(await cutNames(page), []);
            await looksRight(page, `gpu-monitor-${layout}-${width}`);
        }
});

test("a line about the page stands below its head, and vesta's table page has every GPU", async (t) => {
    const { url } = await theHub();
    const page = await open(t, url);
    await says(page.locator("header + .about"), "ask <kim>");
    await page.goto(`${url}/gpu_table`);
    await says(page.locator("h1"), "GPU Table");
    await counts(page.locator("td:first-child"), 4);
    assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector("td:last-child")).textAlign), "right"); /* its style is let in */
    await page.getByRole("link", { name: "Main" }).click();
    await counts(page.locator(".cell"), 4);
});

test("who may not read yet logs in and has vesta's table page", async (t) => {
    const h = await hub(t, { flags: ["--read", "token", "--vesta-token", "t"] });
    const { id } = await json(`${h.url}/register/?host_name=h0&token=t`);
    const gpu = { device_num: 0, uuid: "GPU-0", gpu_name: "Tesla V100", temperature: 60, total_memory: 16160, available_memory: 8160, used_memory: 8000, gpu_volatile: 5, processes: [] };
    assert.equal((await fetch(`${h.url}/update/host/${id}?token=t`, { method: "POST", body: JSON.stringify({ "gpu:0": gpu }) })).status, 200);
    const reader = await token(t, h, "reader");
    const page = await open(t, `${h.url}/gpu_table`);
    await page.getByRole("link", { name: "log in", exact: true }).click();
    await page.getByLabel("Token").fill(reader);
    await page.keyboard.press("Enter");
    await says(page.locator("h1"), "GPU Table");
    assert.equal(page.url(), `${h.url}/gpu_table`);
    await says(page.locator("td:last-child"), "8000 / 16160 MiB");
    refused(page, 401); /* what was asked before */
    clean(page);
});

test("a disk is as full as df says; of an older agent as before, with a mark", async (t) => {
    const { url } = await theHub();
    const page = await open(t, url);
    const GiB = 2 ** 30;
    const cases = [
        [{ disk_used: 800 * GiB, disk_total: 1000 * GiB, disk_avail: 43 * GiB }, {}, [["disks", 0.95, "95 %"]]],
        [{ disk_used: 800 * GiB, disk_total: 1000 * GiB }, {}, [["disks", 0.8, "~80 %"]]],
        [{ disk_used: GiB, disk_total: 1000 * GiB, disk_avail: 949 * GiB }, {}, [["disks", 0.01, "1 %"]]] /* df rounds up */,
        [{ disk_used: 0, disk_total: 1000, disk_avail: 0 }, {}, [["disks", 0, "0 %"]]],
        [{ disk_used: 7, disk_total: 100, disk_avail: 93 }, {}, [["disks", 0.07, "7 %"]]],
        [{ disk_used: 2, disk_total: 4, disk_avail: 1 }, { "disk:": 0.25, "disk:var:opt": 0.9501 }, [["/var/opt", 0.96, "96 %"], ["/", 0.25, "25 %"]]],
        [{ disk_used: 2, disk_total: 4 }, { "disk:var:opt": 0.75 }, [["/var/opt", 0.75, "~75 %"]]],
        [{}, {}, []],
    ];
    for (const [metrics, custom, wanted] of cases) {
        const got = await page.evaluate(async (n) => (await import("/assets/main.js")).$now_host.disks(n), { metrics, custom });
        assert.deepEqual(got.map(([name, v, text]) => [name, v, text.replaceAll("\u00a0", " ")]), wanted);
    }
    await page.goto(`${url}/node/${HOSTS[1]}`);
    await says(page.locator("aside"), /disks 2\.5 MiB of 5\.9 MiB \/var\/opt\/gpu_monitor 95 % \/ 25 %/);
    clean(page);
});

test("a booking of a GPU that somebody is on is seen without a hover", async (t) => {
    const { url } = await theHub();
    const page = await open(t, url);
    for (const layout of ["rows", "cards"])
        for (const width of [1920, 390]) {
            await page.setViewportSize({ width, height: 900 });
            await page.goto(`${url}/?layout=${layout}`);
            await says(page.locator(`[data-uuid="GPU-${HOSTS[0]}-0"]`), /^0 ● raj ⚑ mia$/);
            await says(page.locator(`[data-uuid="GPU-${HOSTS[1]}-0"]`), layout === "rows" ? "0 ● raj ⚑ 92 %" : "0 ● raj ⚑");
            assert.match(await page.locator(`[data-uuid="GPU-${HOSTS[0]}-0"]`).getAttribute("aria-label"), /92\s% used, booked by mia/);
            await looksRight(page, `gpu-monitor-booked-${layout}-${width}`);
        }
});

test("the GPUs of a node that no list names any more do not count", async (t) => {
    const { url } = await theHub();
    const page = await open(t, url);
    const { nodes } = await json(`${url}/api/v1/state`);
    const sums = [nodes, [nodes[0], { ...nodes[1], unlisted: true }]];
    const got = await page.evaluate(async (all) => Promise.all(all.map(async (v) => (await import("/assets/main.js")).$kit_model.tally(v, Date.now()))), sums);
    assert.deepEqual(got.map((sum) => [sum.devices, sum.by.free]), [[4, 2], [2, 1]]);
    clean(page);
});

test("tiles mark what is booked, and say by whom", async (t) => {
    const { url } = await theHub();
    const page = await open(t, `${url}/?layout=tiles`);
    const dot = (host, gpu) => page.locator(`.dot[data-uuid="GPU-${host}-${gpu}"]`);
    await counts(page.locator(".dot"), 4);
    await counts(page.locator(".dot.flagged"), 2);
    assert.equal(await dot(HOSTS[0], 0).getAttribute("aria-label"), `${HOSTS[0]} GPU 0: busy, raj, booked by mia`);
    assert.equal(await dot(HOSTS[1], 0).getAttribute("aria-label"), `${HOSTS[1]} GPU 0: busy, raj, booked by raj`);
    assert.equal(await dot(HOSTS[1], 1).getAttribute("aria-label"), `${HOSTS[1]} GPU 1: free`);
    assert.notEqual(await dot(HOSTS[0], 0).evaluate((e) => getComputedStyle(e).boxShadow), "none");
    await looksRight(page, "gpu-monitor-booked-tiles");
});

test("the GPU's page says that the process whose children keep the memory is dead", async (t) => {
    const { url } = await theHub();
    const page = await open(t, `${url}/gpu/GPU-${HOSTS[1]}-0`);
    await says(page.locator(".lead .note"), DEAD);
    await page.goto(`${url}/gpu/GPU-${HOSTS[1]}-1`); /* of another nothing worse is to be said */
    await says(page.locator(".lead .note"), NO_WORK);
    clean(page);
});

test("the table has the old page's numbers: use, memory, access, temperature, reservation, pid@user", async (t) => {
    const { url } = await theHub();
    const page = await open(t, `${url}/index.php`);
    await page.waitForSelector(".numbers");
    const row = (host, gpu) => page.locator("tr", { has: page.locator(`[data-uuid="GPU-${host}-${gpu}"]`) });
    assert.equal(await row(HOSTS[1], 1).locator("td.num").first().getAttribute("title"), NO_WORK);
    for (const [width, model] of [[1920, "Tesla V100-PCIE-16GB (16 GiB) "], [1280, "Tesla V100-PCIE-16GB (16 GiB) "], [390, ""]]) {
        await page.setViewportSize({ width, height: 900 });
        await says(row(HOSTS[0], 0), `0 ● ${model}92 % 50 % 40 % 61 °C mia (3 h) thesis 31415@raj (40 %) ${DEAD}`);
        await says(row(HOSTS[1], 0), `0 ● ${model}92 % 50 % 40 % 61 °C raj (2 d) 31415@raj (40 %) ${DEAD}`); /* of 50 h, as there */
        await says(row(HOSTS[1], 1), new RegExp(`^1 ○ ${model.replace(/[()]/g, "\\$&")}0 % 0 % 40 % 61 °C zoe \\(\\d+ [sm] ago\\) book$`));
        await looksRight(page, `gpu-monitor-table-${width}`);
    }
});

test("a booking that has ended is remembered for two days, the last one of each GPU", async (t) => {
    const { url } = await theHub();
    const page = await open(t, `${url}/?layout=table`);
    const HOUR = 3600000;
    const NOW = 1800000000000;
    const row = (person, hoursAgo, ...devices) => ({ person, until: NOW - hoursAgo * HOUR, devices });
    const cases = [
        [[row("kim", 3, "a")], { a: "kim" }],
        [[row("kim", 49, "a")], {}],
        [[row("kim", 47, "a"), row("lee", 3, "a", "b"), row("ana", 5, "b")], { a: "lee", b: "lee" }],
        [[row("kim", -1, "a")], {}] /* not over */,
        [[row("kim", 0, "a"), row("lee", 48, "b")], { a: "kim" }],
    ];
    for (const [rows, wanted] of cases) {
        const got = await page.evaluate(async ([v, now]) => [...(await import("/assets/now/table.js")).$now_table.endedOf(v, now)], [rows, NOW]);
        assert.deepEqual(Object.fromEntries(got.map(([uuid, b]) => [uuid, b.person])), wanted);
    }
    clean(page);
});

test("what is left of a booking is whole days, or hours rounded up, as on the old page", async (t) => {
    const { url } = await theHub();
    const page = await open(t, `${url}/?layout=table`);
    const MINUTE = 60000;
    const cases = [[1, "1 h"], [59, "1 h"], [61, "2 h"], [22 * 60 + 1, "23 h"], [23 * 60 + 1, "1 d"], [24 * 60 + 30, "1 d"], [46 * 60 + 59, "1 d"], [47 * 60 + 1, "2 d"], [50 * 60, "2 d"], [100 * 24 * 60 - 1, "100 d"]];
    const got = await page.evaluate(async (all) => Promise.all(all.map(async (ms) => (await import("/assets/now/table.js")).$now_table.left(ms))), cases.map(([m]) => m * MINUTE));
    assert.deepEqual(got.map((text) => text.replaceAll("\u00a0", " ")), cases.map(([, text]) => text));
    clean(page);
});

test("panels fold one by one or all, and stay so", async (t) => {
    const { url } = await theHub();
    const page = await open(t, `${url}/?layout=table`);
    await counts(page.locator(".numbers [data-uuid]"), 4);
    await page.getByRole("button", { name: `fold ${HOSTS[1]}`, exact: true }).click();
    await counts(page.locator(".numbers [data-uuid]"), 2);
    await page.reload();
    await counts(page.locator(".panel"), 2);
    await counts(page.locator(".numbers [data-uuid]"), 2);
    await page.getByRole("button", { name: "fold all" }).click();
    await counts(page.locator(".numbers"), 0);
    await page.reload();
    await counts(page.locator(".panel"), 2);
    assert.equal(await page.locator(".numbers").count(), 0);
    await page.getByRole("button", { name: "unfold all" }).click();
    await counts(page.locator(".numbers [data-uuid]"), 4);
    clean(page);
});
