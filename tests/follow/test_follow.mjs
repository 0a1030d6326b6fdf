/* A site that is followed: its nodes beside one's own, where its past is, what is offered, and what is said when it is away. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { clean, counts, folder, hub, layoutProblems, looksRight, open, says, simulate, test, until, words } from "../kit/lib.mjs";

test("a site's nodes stand beside one's own, lead to their own page, and are stale when it is away", async (t) => {
    const b = await hub(t);
    const a = await hub(t, { flags: ["--config", await config(t, [{ name: "munich", url: b.url }])] });
    const nodes = await simulate(t, b, 2, "--prefix", "dgx", "--seed", 2);
    await simulate(t, a, 1, "--prefix", "own");
    const page = await open(t, a.url);
    await counts(page.locator("section.node"), 3);
    await says(page.locator("h1"), /of 24 free/);
    await looksRight(page, "follow-1280-light");

    await page.locator(".name", { hasText: "munich/dgx1" }).click();
    await says(page.locator("h1"), /^munich\/dgx1 /);
    await counts(page.locator(".cell"), 8);
    const link = page.locator(".main a", { hasText: /^munich$/ }).first();
    assert.equal(await link.getAttribute("href"), `${b.url}/node/dgx1`);
    assert.match(await words(page.locator(".main")), /This hub only follows that site, which stores the history: munich/);
    await looksRight(page, "follow-node-1280-light");

    await page.locator(".cell").first().click();
    await says(page.locator("h1"), /^munich\/dgx1 · GPU 0 /);
    assert.equal(await page.locator(".main a", { hasText: /^munich$/ }).first().getAttribute("href"), `${b.url}/gpu/dgx1%3A0`);
    assert.match(await words(page.locator(".lead")), /at its own site: munich/);
    await counts(page.locator(".lead button"), 0);
    await page.reload(); /* its address is the hub's, too */
    await says(page.locator("h1"), /^munich\/dgx1 · GPU 0 /);
    assert.deepEqual(await layoutProblems(page), []);

    await page.goto(`${a.url}/?filter=site:munich`);
    await counts(page.locator("section.node"), 2);
    await page.goto(`${a.url}/?group=site`);
    await says(page.locator("main"), /munich .*this hub/);
    await page.goto(`${a.url}/?layout=grid`);
    await page.waitForSelector(".heat-at");
    await until("a cell of the site", async () => /munich\/dgx1/.test(await page.locator(".heat-grid").evaluate((e) => e.outerHTML)));
    await page.goto(`${a.url}/bookings`);
    await until("the calendar", async () => (await words(page.locator("main"))).includes("own1"));
    assert.doesNotMatch(await words(page.locator("main")), /munich/);
    clean(page);

    await page.goto(a.url);
    await counts(page.locator("section.node"), 3);
    await nodes.stop("SIGKILL"); /* or it would go on trying */
    await b.p.stop("SIGKILL");
    await says(page.locator("section.node", { hasText: "munich/dgx1" }).locator(".trouble"), /the site munich is not followed since \d/);
    await until("the head says it", async () => /the site munich is not followed since \d/.test(await words(page.locator("body"))) && (await page.locator(".cell.stale").count()) === 16);
    await counts(page.locator("section.node"), 3);
    await looksRight(page, "follow-away-1280-light");
});

async function config(t, follow) {
    const file = path.join(await folder(t), "muster.yaml");
    await writeFile(file, JSON.stringify({ follow }));
    return file;
}
