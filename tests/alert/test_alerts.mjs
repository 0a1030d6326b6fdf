/* Alerts: the most severe first with advice, counted in the header; silenced by authorized users with a reason and an
 * end; removed when resolved. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { clean, folder, hub, json, looksRight, open, refused, says, simulate, test, token, until, words } from "../kit/lib.mjs";

const EVIL = "<img src=x onerror=boom()>";
/* Of the simulated nodes only the rules listed here fire, immediately. */
const CONFIG = `
rule: {down_after: DOWN}
alerts:
  gpu-idle: off
  node-new: off
  gpu-xid: off
  rules:
    - {name: second, when: "gpu:1", severity: warning, for: 0s, clear: 1h, text: "{place} is the second ${EVIL}", advice: "look at it ${EVIL}"}
    - {name: first, when: "gpu:0", severity: info, for: 0s, clear: 1h, text: "{place} is the first", advice: nothing}
`;

async function watched(t, downAfter = "10m") {
    const dir = await folder(t);
    await writeFile(path.join(dir, "muster.yaml"), CONFIG.replace("DOWN", downAfter));
    return hub(t, { flags: ["--config", path.join(dir, "muster.yaml")] });
}

const firing = async (h) => (await json(h.url + "/api/v1/alerts")).firing;
const rows = (page, label) => page.getByRole("list", { name: label, exact: true }).getByRole("listitem");
const tab = (page) => page.getByRole("navigation").getByRole("link", { name: "Alerts" });
const dialog = (page) => page.locator("dialog[open]");

async function logIn(t, page, h, ...who) {
    await page.getByRole("link", { name: "log in" }).last().click();
    await page.getByLabel("Token").fill(await token(t, h, ...who));
    await page.keyboard.press("Enter");
    await until("back on the view", () => new URL(page.url()).pathname === "/alerts");
}

test("nothing is wrong is said, and nothing is counted", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url + "/alerts");
    await page.getByText("To silence alerts").waitFor();
    await says(page.locator("h1"), "no alerts");
    await says(tab(page), "Alerts");
    assert.equal(await tab(page).getAttribute("aria-current"), "page");
    await looksRight(page, "alerts-nothing");
    await page.getByRole("button", { name: "show" }).click();
    await until("the URL says so", () => page.url().endsWith("/alerts?all=yes"));
    await says(page.getByRole("region", { name: "Resolved" }), /none$/);
    clean(page);
});

test("the worst first, where it is and what to do; what is over is shown on request", async (t) => {
    const h = await watched(t, "12s");
    const page = await open(t, h.url + "/");
    const nodes = await simulate(t, h, 2);
    await until("both rules on both nodes", async () => (await firing(h)) === 4);
    await until("the header counts", async () => (await words(tab(page))) === "Alerts 4");
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await until("four", async () => (await rows(page, "Active alerts").count()) === 4);
    await says(page.locator("h1"), "2 warnings, 2 info");
    const first = rows(page, "Active alerts").first();
    const all = await json(h.url + "/api/v1/alerts");
    const worst = all.rows.find((r) => r.rule === "second");
    assert.ok((await words(first)).startsWith(`! warning ${worst.place} for `), await words(first));
    assert.ok((await words(first)).includes(`${worst.place} is the second ${EVIL}`));
    assert.ok((await words(first)).includes(`→ look at it ${EVIL}`));
    assert.equal(await page.locator("main img").count(), 0);
    assert.equal(await page.getByRole("button", { name: /^silence/ }).count(), 0); /* not logged in */
    await looksRight(page, "alerts");
    await page.setViewportSize({ width: 390, height: 800 });
    await looksRight(page, "alerts-narrow");
    await page.emulateMedia({ colorScheme: "dark" });
    await looksRight(page, "alerts-narrow-dark");
    await page.setViewportSize({ width: 1280, height: 800 });
    await first.getByRole("link").click();
    await until("the GPU's page", () => page.url().endsWith(`/gpu/${encodeURIComponent(worst.device)}`));
    await page.goBack();

    await nodes.stop("SIGKILL"); /* both are down: the most severe alerts */
    await until("both are down", async () => (await words(page.locator("h1"))) === "2 critical, 2 warnings, 2 info");
    const down = rows(page, "Active alerts").first();
    await says(down, /^‼\uFE0E? critical \S+ for .* is offline/);
    await says(tab(page), "Alerts 6");

    /* clear is one hour: adds a resolved alert to the response */
    await page.route("**/api/v1/alerts?all", async (route) => {
        const got = await (await route.fetch()).json();
        const over = { ...got.rows.find((r) => r.rule === "first"), id: 1000, state: "resolved", resolved: Date.now() - 60000, since: Date.now() - 7860000 };
        await route.fulfill({ json: { ...got, rows: [...got.rows, over] } });
    });
    await page.getByRole("button", { name: "show" }).click();
    await until("what is over", async () => (await rows(page, "Resolved this week").count()) === 1);
    await says(rows(page, "Resolved this week"), /^i info sim\d:0 .*\d\d:\d\d, after 2 h 10 m/);
    await says(tab(page), "Alerts 6");
    await looksRight(page, "alerts-dark");
    await down.getByRole("link").click();
    await until("the node's page", () => /\/node\/./.test(page.url()));
    clean(page);
});

test("people, nodes and GPUs that an alert names are links", async (t) => {
    const h = await hub(t);
    await simulate(t, h, 2);
    const nodes = (await json(h.url + "/api/v1/state")).nodes;
    const [a, b] = nodes.map((n) => n.name);
    const one = { severity: "warning", state: "firing", subject: "booking:1", node_id: null, device: null, advice: "talk", since: Date.now() - 60000, silenced: null };
    const page = await open(t, "about:blank");
    await page.route("**/api/v1/alerts", async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), firing: 2, rows: [
        { ...one, id: 1, rule: "booking-taken", place: `${a}:0,1`, person: "lee, kim", text: `lee is on ${a}:0,1, which kim has booked: not the Kimberly of ${b}:1.` },
        { ...one, id: 2, rule: "own", place: b, node_id: nodes[1].id, person: `ana, ${EVIL}`, text: `${b} is slow` },
    ] } }));
    await page.goto(h.url + "/alerts");
    const ways = (i) => rows(page, "Active alerts").nth(i).getByRole("link").evaluateAll((all) => all.map((link) => [link.textContent, new URL(link.href).pathname]));
    await until("both", async () => (await rows(page, "Active alerts").count()) === 2);
    await until("the nodes are known", async () => (await ways(0)).length === 4);
    const second = nodes[1].devices.find((d) => d.index === 1);
    assert.deepEqual(await ways(0), [[`${a}:0,1`, `/node/${a}`], ["lee", "/person/lee"], ["kim", "/person/kim"], [`${b}:1`, `/gpu/${second.uuid}`]]);
    assert.deepEqual(await ways(1), [[b, `/node/${nodes[1].id}`], ["ana", "/person/ana"], [EVIL, `/person/${encodeURIComponent(EVIL)}`]]);
    await says(rows(page, "Active alerts").nth(1), /own · about ana, /);
    await page.locator(".alert a", { hasText: "kim" }).focus();
    await page.keyboard.press("Enter");
    await until("kim's page", () => page.url().endsWith("/person/kim"));
});

test("a member silences an alert with a reason and an end, and ends it; what is refused stays in the form", async (t) => {
    const h = await watched(t);
    await simulate(t, h, 1);
    await until("both rules", async () => (await firing(h)) === 2);
    const page = await open(t, h.url + "/alerts");
    await logIn(t, page, h, "member", "--person", "kim");
    const { place } = (await json(h.url + "/api/v1/alerts?rule=second")).rows[0];
    await page.getByRole("button", { name: `silence second of ${place}` }).click();
    assert.deepEqual(await Promise.all(["rule", "node", "for", "reason"].map((n) => dialog(page).locator(`[name=${n}]`).inputValue())), ["second", place, "4h", ""]);
    await page.waitForFunction(() => document.activeElement?.name === "reason"); /* it has the focus */
    await page.keyboard.type(`we know ${EVIL}`);
    await dialog(page).getByRole("button", { name: "1 d" }).click();
    await looksRight(page, "alerts-form");
    await dialog(page).getByLabel("duration", { exact: true }).first().fill("soon");
    await dialog(page).getByRole("button", { name: "Silence" }).click();
    await says(dialog(page).getByRole("alert"), /'soon' is not a length of time/);
    assert.equal(await dialog(page).locator("[name=reason]").inputValue(), `we know ${EVIL}`);
    refused(page, 400);
    await dialog(page).getByRole("button", { name: "1 d" }).click();
    await dialog(page).getByLabel("reason").press("Enter");
    await dialog(page).waitFor({ state: "detached" });
    await until("it is silenced", async () => (await rows(page, "Silenced").count()) === 1);
    await says(rows(page, "Silenced"), /second · silenced by kim until /);
    await says(page.locator("h1"), "1 info and 1 silenced");
    await says(tab(page), "Alerts 1");
    const [silence] = (await json(h.url + "/api/v1/silences")).rows;
    assert.deepEqual([silence.rule, silence.node, silence.by, silence.reason, silence.until - silence.created], ["second", place, "kim", `we know ${EVIL}`, 86400000]);
    assert.equal(await page.locator("main img").count(), 0);
    await looksRight(page, "alerts-silenced");
    await page.setViewportSize({ width: 390, height: 800 });
    await looksRight(page, "alerts-silenced-narrow");
    await page.getByRole("button", { name: `end the silence of second of ${place}` }).click();
    await until("it is loud again", async () => (await words(tab(page))) === "Alerts 2");
    assert.deepEqual((await json(h.url + "/api/v1/silences")).rows, []);

    /* all alerts, manually; then without a user */
    await page.getByRole("button", { name: "silence something else" }).click();
    await page.waitForFunction(() => document.activeElement?.name === "rule");
    await page.keyboard.type("*");
    await dialog(page).getByLabel("reason").fill("maintenance");
    await page.context().clearCookies();
    await dialog(page).getByRole("button", { name: "Silence" }).click();
    await says(dialog(page).getByRole("alert"), /token/);
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    refused(page, 401);
    clean(page);
});

test("which channels work, and why one does not; an admin tests them", async (t) => {
    const dir = await folder(t);
    const channels = `
    - {name: told, when: "gpu:0", for: 0s, text: "{place} is told", channel: [bad]}
channels:
  good: {type: command, command: [/bin/true]}
  bad: {type: command, command: [/bin/sh, -c, "echo '${EVIL}' >&2; exit 3"]}
`;
    await writeFile(path.join(dir, "muster.yaml"), CONFIG.replace("DOWN", "10m").trimEnd() + channels);
    const h = await hub(t, { flags: ["--config", path.join(dir, "muster.yaml")] });
    await simulate(t, h, 1);
    const page = await open(t, h.url + "/alerts");
    const row = (name) => page.getByRole("region", { name: "Channels", exact: true }).getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
    await until("bad fails", async () => (await words(row("bad"))).includes("fails"));
    await says(row("good"), /^good command works 0$/);
    await until("and why", async () => (await words(row("bad"))).includes(`the command ended with status 3: ${EVIL}`));
    assert.equal(await page.getByRole("button", { name: /^send a test/ }).count(), 0);
    await looksRight(page, "alerts-channels");
    await logIn(t, page, h, "admin");
    await page.getByRole("button", { name: "send a test message through good" }).click();
    await until("it is sent", async () => (await words(row("good"))).endsWith("test sent"));
    await page.getByRole("button", { name: "send a test message through bad" }).click();
    await until("it is said why not", async () => (await words(row("bad"))).includes("bad fails: the command ended with status 3"));
    refused(page, 502);
    assert.equal(await page.locator("main img").count(), 0);
    await looksRight(page, "alerts-channels-tested");
    await page.setViewportSize({ width: 390, height: 800 });
    await looksRight(page, "alerts-channels-narrow");
    await page.emulateMedia({ colorScheme: "dark" });
    await looksRight(page, "alerts-channels-narrow-dark");
    clean(page);
});
