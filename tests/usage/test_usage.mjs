/* Usage: who used how much, over which time, broken down; who to ask; what is held without work. */
import assert from "node:assert/strict";
import path from "node:path";
import { clean, demo, hub, json, looksRight, open, run, says, shared, test, token, TOP, until, words } from "../kit/lib.mjs";

const EVIL = ["Robert'); DROP TABLE", "<img src=x onerror=boom()>"];

const priced = shared((t) => demo(t, "--usage-price", "H200=2.50", "--usage-co2", "380"));
/** A demo whose week is counted. */
async function theDemo() {
    const h = await priced();
    await until("all is counted", async () => (await json(h.url + "/api/v1/usage?last=7d")).waiting === 0);
    return h;
}

const number = (text) => Number(text.replaceAll(",", ""));
const cells = async (row) => (await row.locator("td").allInnerTexts()).map((v) => v.trim());
const rows = (page) => page.locator(".usage tbody tr");

test("a table with its sum, a chart over time, sorted by any column", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url + "/usage?last=7d", { width: 1600, height: 1000 });
    await rows(page).first().waitFor();
    await says(page.locator("h1"), /^[\d,]+\.\d h of GPU time held in the last 7 days, \d+ % of them busy, efficiency \d+ %(, records since .+)?$/);
    await says(page.locator(".usage thead"), /^user held ↓ h busy h effective h tensor h idle h long idle h memory GiB h energy kWh per eff\. hour kWh cost EUR CO₂ kg share busy efficiency$/);
    let held = 0;
    let before = Infinity;
    for (const row of await rows(page).all()) {
        const v = number((await cells(row))[0]);
        assert.ok(v <= before); /* the most first */
        before = v;
        held += v;
    }
    const total = number((await cells(page.locator(".usage tfoot tr")))[0]);
    assert.ok(total > 100 && Math.abs(total - held) < 1, `${total} ${held}`);
    const asked = await json(url + "/api/v1/usage?by=person&last=7d");
    assert.ok(Math.abs(asked.total.held / 3600 - total) < 5);
    await until("a bar a day", async () => (await page.locator(".stack g").count()) >= 7);
    assert.match(await page.locator(".stack g").nth(2).locator("title").first().innerHTML(), /^\d{1,2} [A-Z][a-z]+: [\d,.]+ h$/);
    for (const [width, height] of [[1600, 1000], [390, 844]])
        for (const colorScheme of ["light", "dark"]) {
            await page.setViewportSize({ width, height });
            await page.emulateMedia({ colorScheme });
            await looksRight(page, `usage-${width}-${colorScheme}`);
        }
    await page.getByRole("table").getByRole("button", { name: "user" }).click();
    await until("they are in order", async () => {
        const known = (await rows(page).locator("th").allInnerTexts()).filter((n) => n !== "unknown user");
        return known.length > 1 && `${known}` === `${[...known].sort()}`;
    });
    await until("the URL says so", () => new URL(page.url()).search === "?last=7d&sort=name");
    clean(page);
});

test("the URL has it all: by whom, which time, what the bars are; CSV is the same", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url + "/usage?by=node&last=7d&of=free&period=day");
    await rows(page).first().waitFor();
    await says(page.locator(".usage thead"), /^node held ↓ h busy h effective h tensor h idle h long idle h free h booked, unused h offline h /);
    assert.equal(await page.locator("select[name=of]").inputValue(), "free");
    await page.getByRole("group", { name: "by" }).getByRole("button", { name: "team" }).click();
    await page.getByText("counts in both; the total counts each user once").waitFor();
    await until("the URL says so", () => new URL(page.url()).searchParams.get("by") === "team");
    await until("the teams", async () => (await words(rows(page).first())).match(/^(robotics|vision|language)/));
    const csv = await page.getByRole("link", { name: "table" }).getAttribute("href");
    const got = await fetch(url + csv);
    assert.match(got.headers.get("content-type"), /^text\/csv/);
    assert.match(await got.text(), /robotics/);
    const today = (await json(url + "/api/v1/usage?last=1d&period=day")).rows.map((r) => r.label).sort().at(-1); /* the hub's day */
    await page.getByLabel("from").fill(today);
    await page.getByLabel("to", { exact: true }).fill(today);
    await page.getByRole("button", { name: "show" }).click();
    await until("that day", async () => (await words(page.locator("h1"))).includes(`on ${today}`));
    await page.reload();
    await until("that day again", async () => (await words(page.locator("h1"))).includes(`on ${today}`));
    clean(page);
});

test("down to the ground: a team, a person of it, the GPUs, a day of them", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url + "/usage?by=team&last=7d");
    await rows(page).getByRole("link", { name: "vision" }).click();
    await until("its people", async () => /^all › vision: /.test(await words(page.locator("h1"))) && (await words(page.locator(".usage thead"))).startsWith("user"));
    const person = rows(page).getByRole("link").first();
    const who = await person.innerText();
    await person.click();
    await until("the GPUs", async () => (await words(page.locator("h1"))).startsWith(`all › ${who}: `) && /^dgx\d:\d /.test(await words(rows(page).first())));
    const before = number((await cells(page.locator(".usage tfoot tr")))[0]);
    await page.locator(".stack g").nth(3).click();
    await until("a day", async () => / of GPU time held on \d{4}-\d\d-\d\d/.test(await words(page.locator("h1"))));
    await until("less than all days have", async () => {
        const one = number((await cells(page.locator(".usage tfoot tr")))[0]);
        return one < before && one > 0;
    });
    await page.goBack();
    await until("the days again", async () => (await words(page.locator("h1"))).includes("in the last 7 days"));
    clean(page);
});

test("who to ask for a GPU, in words and marks", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url + "/people");
    const table = page.getByRole("region", { name: "Users and their GPUs" });
    await table.waitFor();
    await says(table, /^user booked held now 2 h 24 h 1 week tom ▮▮▮ 8\.0 /);
    for (const [width, height] of [[1280, 900], [390, 844]]) {
        await page.setViewportSize({ width, height });
        await table.scrollIntoViewIfNeeded();
        await looksRight(page, `people-ask-${width}`);
    }
    clean(page);
});

test("names are just names, also where they are counted; what is held without work is listed with its worth", async (t) => {
    const h = await hub(t, { flags: ["--usage-price", "*=2", "--usage-every", "1s", "--rule-stale-after", "1h", "--rule-down-after", "1h"] });
    await run(t, "/usr/bin/python3", path.join(TOP, "tests/usage/past.py"), h.url, await token(t, h, "enroll"));
    await until("it is counted, the hour under way too", async () => {
        const { rows: some } = await json(h.url + "/api/v1/usage?last=1d");
        return some.filter((r) => EVIL.includes(r.key) && r.held > 2.9 * 3600).length === EVIL.length;
    });
    const page = await open(t, h.url + "/usage?last=1d");
    await page.exposeFunction("boom", () => page.wrong.push("a name was run"));
    await until("both", async () => (await rows(page).count()) >= 2);
    for (const name of EVIL) {
        const row = rows(page).filter({ hasText: name });
        const held = number((await cells(row))[0]);
        assert.ok(held >= 2.5 && held < 3.5, `${name} ${held}`);
        const done = await cells(row); /* what was not measured is not known, not 0 */
        if (name === EVIL[0]) assert.match(`${done[2]}, ${done[3]}`, /^3\d\sm of 1\.[45] h, 1\d\sm of 1\.[45] h$/);
        else assert.equal(`${done[2]}, ${done[3]}`, "–, –");
        await row.getByRole("link").click();
        await until("it is found by its name", async () => (await words(page.locator("h1"))).startsWith(`all › ${name}: `) && (await rows(page).count()) === 1);
        await page.goBack();
        await until("both again", async () => (await rows(page).count()) >= 2);
    }
    await looksRight(page, "usage-evil");
    await page.goto(h.url + "/people");
    const idle = page.getByRole("region", { name: "idle GPUs" });
    await until("the idle one, and what its worth is counted in", async () => (await idle.count()) && /EUR idles:0/.test(await words(idle)));
    await says(idle, /^idle GPUs for longer than .* 1 GPU, cost \d\.\d\d EUR GPU user idle for memory program cost in EUR idles:0 <img src=x onerror=boom\(\)> [23] h .*1 GiB python [456]\.\d\d$/);
    await looksRight(page, "people-idle");
    await page.locator("select[name=longer]").selectOption("8h");
    await until("none for so long", async () => / none$/.test(await words(idle)));
    assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script").length), 0);
    clean(page);
});

test("on the first day, without anything, it says so", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url + "/usage");
    await page.getByText("No usage in this period").waitFor();
    await says(page.locator("h1"), "usage in the last 30 days");
    await looksRight(page, "usage-none");
});

test("trends: use, power and free over weeks, a week hour by hour, months with the month before", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url + "/trends", { width: 1440, height: 1100 });
    await says(page.locator("h1"), /^\d+ % of all GPU time was held, \d+ % busy in the last 4 weeks(, records since .+)?$/);
    const { rows: days } = await json(url + "/api/v1/usage?by=model&period=day&last=28d");
    const chart = page.locator(".stack").first();
    await until("a bar a day", async () => (await chart.locator("g").count()) === days.length);
    const at = Math.floor(days.length / 2);
    const gpus = (days[at].busy * 1000) / (days[at + 1].at - days[at].at);
    assert.equal(await chart.locator("g").nth(at).locator("title").nth(1).textContent(), `${new Date(days[at].label).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" })}, busy: ${gpus.toFixed(1)} GPUs`);
    const effective = (days[at].effective * 1000) / (days[at + 1].at - days[at].at);
    assert.match(await page.locator(".stack").nth(1).locator("g").nth(at).locator("title").nth(1).textContent(), new RegExp(`, effective: ${effective.toFixed(1)} GPUs$`));
    const tensor = (days[at].tensor * 1000) / (days[at + 1].at - days[at].at);
    assert.match(await page.locator(".stack").nth(2).locator("g").nth(at).locator("title").nth(1).textContent(), new RegExp(`, tensor: ${tensor.toFixed(1)} GPUs$`));
    await page.getByRole("heading", { name: "average GPUs with busy tensor pipes per day" }).waitFor();
    await until("power", async () => /kW$/.test(await page.locator(".stack").nth(3).locator("title").first().textContent()));
    assert.equal(await page.locator(".week tbody tr").count(), 7);
    assert.equal(await page.locator(".week tbody td").count(), 7 * 24);
    const { rows: hours } = await json(url + "/api/v1/usage?by=model&period=hour&last=28d");
    const weekday = (label) => (new Date(label.slice(0, 10) + "T00:00Z").getUTCDay() + 6) % 7;
    const hour = (label) => Number(label.slice(11, 13));
    const some = hours[Math.floor(hours.length / 2)].label; /* days ago: all of it is counted */
    const same = hours.filter((r) => weekday(r.label) === weekday(some) && hour(r.label) === hour(some));
    const work = same.reduce((sum, r) => sum + r.busy / r.wall, 0) / same.length;
    await says(page.locator(".week tbody tr").nth(weekday(some)).locator("td").nth(hour(some)), `${Math.round(work * 100)}`);
    await page.getByLabel("show").selectOption("effective");
    const useful = same.reduce((sum, r) => sum + r.effective / r.wall, 0) / same.length;
    await says(page.locator(".week tbody tr").nth(weekday(some)).locator("td").nth(hour(some)), `${Math.round(useful * 100)}`);
    await page.getByLabel("show").selectOption("tensor");
    const pipes = same.reduce((sum, r) => sum + r.tensor / r.wall, 0) / same.length;
    await says(page.locator(".week tbody tr").nth(weekday(some)).locator("td").nth(hour(some)), `${Math.round(pipes * 100)}`);
    assert.match(await page.locator(".week tbody tr").nth(weekday(some)).locator("td").nth(hour(some)).getAttribute("title"), /: tensor pipes busy: \d+\s% of all$/);
    await page.getByLabel("show").selectOption("power");
    await until("it is in the URL", () => new URL(page.url()).search === "?of=power");
    await says(page.getByLabel("Months", { exact: true }).locator("thead"), /^month GPUs held before of which busy before GPUs free before power before GPU-hours held effective h tensor h energy kWh cost EUR$/);
    await says(page.getByLabel("Months", { exact: true }).locator("tbody tr").first(), /^\d{4}-\d\d so far (records since \S+ \S+ )?[\d.]+ /);
    for (const [width, colorScheme] of [[1440, "light"], [1024, "dark"], [390, "light"], [390, "dark"]]) {
        await page.setViewportSize({ width, height: 1000 });
        await page.emulateMedia({ colorScheme });
        await looksRight(page, `trends-${width}-${colorScheme}`);
    }
    clean(page);
});

test("trends: GPUs that come and go, a day that is not over, a month that is missing, hours that wait", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url);
    const day = (d) => Date.UTC(2026, 9, d);
    const row = (at, label, hours) => ({ key: "H200", at, label, gpus: 2, wall: hours * 3600, held: hours * 1800, busy: hours * 900, idle: hours * 900, free: hours * 1800, booked_unused: 0, down: 0, energy: hours * 3.6e6 });
    /* one GPU goes and another comes at noon of the first day; then there are two; the last day is half over */
    const rows = [row(day(1), "2026-10-01", 24), row(day(2), "2026-10-02", 48), row(day(3), "2026-10-03", 24)];
    const months = [row(Date.UTC(2026, 6, 1), "2026-07", 2 * 744), row(Date.UTC(2026, 8, 1), "2026-09", 2 * 720), row(day(1), "2026-10", 96)];
    const to = day(3) + 12 * 3600000;
    let waiting = 7;
    let from = null;
    await page.route("**/api/v1/usage?*", (r) => {
        const period = new URL(r.request().url()).searchParams.get("period");
        const total = { ...row(day(1), "", 96), held: 72 * 3600, busy: 24 * 3600 };
        return r.fulfill({ json: { from: day(1), to, by: "model", period, zone: "UTC", records_from: from, counted_to: to, waiting, rows: period === "month" ? months : period === "day" ? rows : [], total } });
    });
    await page.goto(h.url + "/trends");
    await says(page.locator("h1"), "75 % of all GPU time was held, 25 % busy in the last 4 weeks");
    const bars = page.locator(".stack").first().locator("g");
    await until("a bar a day", async () => (await bars.count()) === 3);
    for (const [i, gpus] of ["0.5", "1.0", "1.0"].entries()) assert.match(await bars.nth(i).locator("title").last().textContent(), new RegExp(`free: ${gpus} GPUs$`));
    const held = page.getByLabel("Months", { exact: true }).locator("tbody tr td:nth-of-type(-n+2)");
    await until("the months", async () => (await held.count()) === 6);
    assert.deepEqual(await held.allInnerTexts(), ["0.8", "1.0", "1.0", "–", "1.0", "–"]);
    await page.getByText("7 hours of nodes not counted yet; days, hours and months of UTC").waitFor();
    assert.equal(await page.locator(".stack .partial").count(), 0);
    from = day(1) + 12 * 3600000; /* the first day's records begin at noon: its means are of half a day */
    await until("the mean of what there is", async () => /free: 1\.0 GPUs$/.test(await bars.nth(0).locator("title").nth(3).textContent()));
    await until("it is hatched", async () => (await page.locator(".stack").first().locator(".partial").count()) === 1);
    await says(page.locator("h1"), /75 % of all GPU time was held, 25 % busy in the last 4 weeks, records since 2026-10-01 12:00/);
    await page.getByText(/mean since .*, when records start/).waitFor();
    from = null;
    rows[1].free = rows[1].wall; /* it is counted meanwhile */
    waiting = 0;
    await until("it is asked for again", async () => /free: 2\.0 GPUs$/.test(await bars.nth(1).locator("title").last().textContent()));
    await page.getByText(/^days, hours and months of UTC$/).waitFor();
    clean(page);
});
