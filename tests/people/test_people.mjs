/* People, logging in and out, adding a node: what one may not do is not offered. */
import assert from "node:assert/strict";
import path from "node:path";
import { clean, counts, demo, hub, json, looksRight, open, refused, run, says, shared, simulate, test, token, TOP, until, words } from "../kit/lib.mjs";

const theDemo = shared(demo);

test("who holds what now, with how much memory, since when, and where", async (t) => {
    const h = await theDemo();
    const page = await open(t, h.url + "/people");
    await page.waitForSelector(".people tbody tr");
    await says(page.locator(".banner"), /^DEMO/);
    await says(page.locator("h1"), /^\d+ users hold \d+ GPUs$/);
    await says(page.locator(".people tbody tr").first(), /^tom 8 [\d.]+ (GiB|TiB) .+ dgx3/); /* most GPUs first */
    const lee = page.locator(".people tr", { hasText: "lee" });
    await says(lee, /^lee 1 ◐ 1 /);
    await looksRight(page, "people");
    await page.setViewportSize({ width: 390, height: 800 });
    await looksRight(page, "people-narrow");
    await page.emulateMedia({ colorScheme: "dark" });
    await looksRight(page, "people-dark");
    await lee.getByRole("link", { name: "lee", exact: true }).click();
    await says(page.locator("h1"), /^lee /);
    assert.equal(new URL(page.url()).pathname, "/person/lee");
    await page.keyboard.press("g");
    await page.keyboard.press("p");
    await page.waitForSelector(".people");
    clean(page);
});

test("a person's page: what they hold, used, ran and booked, and who can change that", async (t) => {
    const h = await theDemo();
    await until("the week is counted", async () => (await json(h.url + "/api/v1/usage?last=7d")).waiting === 0);
    const { nodes } = await json(h.url + "/api/v1/state");
    const held = nodes.flatMap((n) => n.devices).filter((d) => d.processes.some((p) => (p.person ?? p.user) === "kim"));
    const soon = Date.now() + 3600000;
    const made = await fetch(h.url + "/api/v1/bookings", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ devices: ["dgx2:0"], from: soon, until: soon + 7200000, person: "kim" }) });
    assert.equal(made.status, 201, await made.text());
    const page = await open(t, h.url + "/person/kim", { width: 1440, height: 900 });
    await says(page.locator("h1"), "kim vision");
    await says(page.locator(".lead .sentence"), new RegExp(`^holds ${held.length} GPUs on dgx1, for `));
    await counts(page.locator(".held-on .cell"), held.length);
    assert.match(await page.locator(".held-on .cell").first().getAttribute("aria-label"), /^dgx1 GPU \d: /);
    await says(page.getByLabel("Usage in 30 days"), /^30 days.* \d+ % busy held [\d,]+\.\d h busy /);
    await until("a bar a day", async () => (await page.getByLabel("GPU-hours per day").locator("g").count()) >= 7);
    await says(page.getByLabel("Runs", { exact: true }).locator("tbody tr").filter({ hasText: "still running" }).first(), /^train\.py record dgx1:0,1,2,3 .+ still running [\d.]+ GiB$/);
    await says(page.locator(".book-list tbody tr"), /^kim dgx2:0 /);
    await says(page.getByLabel("permissions"), "permissions All users can book in kim's name. Only kim and admins can silence kim's critical alerts. Log in");
    assert.match(await page.title(), /^kim · /);
    for (const [width, dark] of [[1440, false], [1024, true], [390, false], [390, true]]) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
        await looksRight(page, `person-${width}-${dark ? "dark" : "light"}`);
    }
    await page.getByRole("link", { name: "vision" }).click();
    await says(page.locator("h1"), "vision team");
    await says(page.getByLabel("Members").locator("tbody"), /kim [\d,.]+ \d+ %/);
    assert.deepEqual((await page.getByLabel("Members").locator("tbody th").allInnerTexts()).sort(), ["ana", "kim", "lee"]);
    await says(page.getByLabel("Runs", { exact: true }).locator("tbody"), /finetune\.py record ana dgx1:5,6,7 .*, still running.*finetune\.py record ana dgx6:0,1 .* end unknown/);
    await looksRight(page, "team-390");
    const refuse = (route) => route.fulfill({ status: 503, json: { detail: "the hub is starting" } });
    refused(page, 503);
    await page.route("**/api/v1/jobs?*", refuse); /* one answer that fails takes nothing else away */
    await page.goto(h.url + "/person/kim");
    await says(page.locator("h1"), "kim vision");
    await says(page.getByLabel("Runs", { exact: true }), "runs of the last 7 days the hub is starting");
    await page.unroute("**/api/v1/jobs?*", refuse);
    await page.route("**/api/v1/usage?*", refuse);
    await page.goto(h.url + "/person/kim");
    await says(page.locator(".one .error"), "the hub is starting");
    await page.unroute("**/api/v1/usage?*", refuse);
    await page.goto(h.url + "/person/nobody-here");
    await page.getByText("No data about nobody-here").waitFor();
    clean(page);
}, 240000);

test("who has GPUs on very many nodes is said in one sentence", async (t) => {
    const h = await hub(t);
    await simulate(t, h, 80);
    let most;
    await until("somebody is on many", async () => {
        const { nodes } = await json(h.url + "/api/v1/state");
        const on = new Map();
        for (const n of nodes) for (const user of new Set(n.devices.flatMap((d) => d.processes).map((p) => p.person ?? p.user))) on.set(user, (on.get(user) ?? 0) + 1);
        most = [...on].sort((a, b) => b[1] - a[1])[0];
        return most?.[1] > 12;
    });
    const page = await open(t, `${h.url}/person/${most[0]}`);
    await says(page.locator(".sentence"), /^holds \d+ GPUs on (\S+, ){7}\S+ and \d+ more nodes/);
    clean(page);
});

test("a person's runs are asked for by person: the hub knows their logins", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url);
    const first = Date.now() - 7200000;
    const seen = { node: "dgx1", index: 3, user: "kdoe", program: "train", pid: 7, first, last: first + 3600000, ended: true, there: false, memory_max: 2 ** 30, processes: 1 };
    await page.route("**/api/v1/processes?*", (r) => r.fulfill({ json: { more: false, spans: new URL(r.request().url()).searchParams.get("person") === "kim" ? [seen] : [] } }));
    await page.goto(h.url + "/person/kim");
    await says(page.getByLabel("Runs", { exact: true }).locator("tbody tr"), /^train dgx1:3 .* 1 h 1(\.0)? GiB$/);
    clean(page);
});

test("who is logged in finds their own things first", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url + "/login");
    await counts(page.getByRole("link", { name: "Mine" }), 0);
    await page.getByLabel("Token").fill(await token(t, h, "member", "--person", "kim"));
    await page.keyboard.press("Enter");
    await says(page.locator(".top nav a").first(), "Mine");
    await page.getByRole("link", { name: "Mine" }).click();
    await until("their page", () => new URL(page.url()).pathname === "/person/kim");
    await page.getByText("No data about kim").waitFor();
    assert.equal(await page.locator(".top nav a").first().getAttribute("aria-current"), "page");
    clean(page);
});

test("nobody on anything is said, not an empty table", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url + "/people");
    await page.getByText("No GPU is in use now").waitFor();
    await looksRight(page, "people-nobody");
});

test("a token logs in and out; a wrong one says why; admins are offered more", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url + "/");
    await page.getByRole("link", { name: "log in" }).click();
    await looksRight(page, "login");
    assert.equal(await page.getByRole("link", { name: "add a node" }).count(), 0);
    await page.getByLabel("Token").fill("hunter2");
    await page.getByRole("button", { name: "Log in" }).click();
    await says(page.getByRole("alert"), "this is not a valid token: a token starts with mst_, and all of it is needed; on the hub `muster token new` creates one");
    refused(page, 400);
    await page.getByLabel("Token").fill("mst_aaaaaaaa_" + "b".repeat(43));
    await page.getByRole("button", { name: "Log in" }).click();
    await says(page.getByRole("alert"), /^this token is not known here, or was revoked$/);
    refused(page, 401);
    await looksRight(page, "login-wrong");
    await page.getByLabel("Token").fill(await token(t, h, "member", "--person", "kim"));
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "kim" }).waitFor();
    await until("back where one was", () => new URL(page.url()).pathname === "/");
    assert.equal(await page.getByRole("link", { name: "add a node" }).count(), 0);
    assert.equal(await page.evaluate(() => document.cookie), ""); /* no script sees it */
    await page.getByRole("link", { name: "kim" }).click();
    await page.getByRole("button", { name: "Log out", exact: true }).click();
    await page.getByRole("link", { name: "log in" }).waitFor();
    clean(page);
});

test("an admin joins a machine that was set up anew, and deletes one that never spoke", async (t) => {
    const h = await hub(t);
    await run(t, "/usr/bin/python3", path.join(TOP, "tests/people/twins.py"), h.url, await token(t, h, "enroll"));
    const page = await open(t, h.url + "/node/dgx7~2");
    await page.getByText("has GPUs that belonged to dgx7").first().waitFor();
    assert.equal(await page.getByRole("button", { name: "Merge the two" }).count(), 0); /* not for everybody */
    await page.goto(h.url + "/login?to=" + encodeURIComponent("/node/dgx7~2"));
    await page.getByLabel("Token").fill(await token(t, h, "admin"));
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Merge the two" }).click();
    await page.getByRole("button", { name: "No", exact: true }).click(); /* asked twice */
    await page.getByRole("button", { name: "Merge the two" }).click();
    await page.getByRole("button", { name: "Merge: move the history of dgx7 to this node" }).click();
    await until("one node less", async () => (await json(h.url + "/api/v1/nodes")).map((n) => n.name).join() === "dgx7,ghost");
    await until("its name", async () => (await words(page.locator("h1"))).startsWith("dgx7 "));
    await counts(page.getByText("belonged to"), 0);
    await page.goto(h.url + "/node/ghost");
    await page.getByRole("button", { name: "Delete the node" }).click();
    await page.getByRole("button", { name: "Delete it and its token" }).click();
    await until("the ghost is gone", async () => (await json(h.url + "/api/v1/nodes")).length === 1);
    await until("the list", async () => new URL(page.url()).pathname === "/");
    clean(page);
});

test("an admin adds a node: a command to paste, and the node appears by itself", async (t) => {
    const h = await hub(t, { flags: ["--address", "http://gpu-hub.example:8765"] });
    const page = await open(t, h.url + "/add");
    await page.getByText("Adding nodes is for admins").waitFor();
    await page.getByRole("link", { name: "Log in", exact: true }).click();
    await page.getByLabel("Token").fill(await token(t, h, "admin"));
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Create the command" }).waitFor();
    await until("back where one was", () => new URL(page.url()).pathname === "/add");
    await looksRight(page, "add");
    await page.getByLabel(/^Note/).fill("rack 4");
    await page.getByRole("button", { name: "Create the command" }).click();
    await says(page.locator(".copy code"), /^curl -fsS http:\/\/gpu-hub\.example:8765\/install \| sh -s -- mst_\w{8}_\S{43}$/);
    await page.setViewportSize({ width: 390, height: 800 });
    await looksRight(page, "add-command");
    await page.getByText("Waiting for the node to report").waitFor();
    await simulate(t, h, 1);
    await page.getByText("is here").waitFor();
    await says(page.locator(".arrivals"), /\S+ is here: 8 GPUs, H200/);
    clean(page);
});

test("links to log in lead nowhere else", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url + "/login?to=//evil.example/");
    await page.getByLabel("Token").fill(await token(t, h, "member", "--person", "kim"));
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "kim" }).waitFor();
    await until("the first view", () => new URL(page.url()).href === h.url + "/");
    clean(page);
});

test("a link logs in once, leaves the address, and log out ends the session on the hub", async (t) => {
    const h = await hub(t, { flags: ["--read", "token"] });
    const admin = await token(t, h, "admin");
    const made = await fetch(h.url + "/api/v1/once", { method: "POST", body: "{}", headers: { Authorization: `Bearer ${admin}` } });
    const { once } = await made.json();
    const page = await open(t, `${h.url}/login?to=/events#once=${once}`);
    await until("we are where we wanted to be", () => new URL(page.url()).pathname === "/events");
    await page.getByRole("link", { name: "admin", exact: true }).waitFor();
    assert.ok(!page.url().includes("once"));
    const [cookie] = (await page.context().cookies()).filter((c) => c.name === "muster");
    const role = async () => (await (await fetch(h.url + "/api/v1/whoami", { headers: { Cookie: `muster=${cookie.value}` } })).json()).role;
    assert.equal(await role(), "admin");
    await page.getByRole("link", { name: "admin", exact: true }).click();
    await page.getByText("You are logged in").waitFor();
    refused(page, 401); /* what was asked before the link was redeemed */
    await looksRight(page, "logged-in");
    await page.getByRole("button", { name: "Log out", exact: true }).click();
    await page.getByRole("link", { name: "log in", exact: true }).waitFor();
    await until("the session is over", async () => (await role()) === "none");

    /* the same link again: a sentence, and the form is still there */
    await page.goto(`${h.url}/login#once=${once}`);
    await page.getByText("this link was used already").waitFor();
    assert.ok(!page.url().includes("once"));
    await counts(page.locator("input[name=token]"), 1);
    await page.locator("input[name=token]").fill(admin);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("link", { name: "admin", exact: true }).click();
    await page.getByRole("button", { name: "Log out everywhere" }).click();
    await page.getByRole("link", { name: "log in", exact: true }).waitFor();
    clean(page);
});
