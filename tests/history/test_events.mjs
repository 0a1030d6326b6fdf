/* Events: what happened in the whole cluster: how far back, of which kind, what one looks for; trouble first in words. */
import assert from "node:assert/strict";
import { clean, counts, demo, looksRight, open, says, test, until } from "../kit/lib.mjs";

test("what happened: a range, a kind, a search, all in the URL", async (t) => {
    const { url } = await demo(t);
    const page = await open(t, `${url}/events`);
    const lines = page.locator(".events li");
    await says(page.locator("h1"), /^\d+ events in the last week, \d+ of them problems$/);
    await until("the driver that hung", async () => /dgx5 ✕ not responding: driver does not answer/.test(await page.locator(".events").innerText()));
    await looksRight(page, "events");
    await page.getByRole("button", { name: "1h" }).click();
    await says(page.locator("h1"), /^3 events in the last hour, all of them problems$/);
    await counts(lines, 3);
    await page.getByLabel("find").fill("DGX6");
    await says(page.locator("h1"), /^1 event in the last hour, a problem$/);
    await says(lines, /dgx6 ✕ offline: no data for 1 m$/);
    await page.reload(); /* a link reproduces the view */
    await counts(lines, 1);
    assert.equal(await page.getByLabel("find").inputValue(), "DGX6");
    await page.getByLabel("show").selectOption("bookings");
    await says(page.locator("h1"), "no matching events in the last hour");
    await page.getByRole("button", { name: "show all" }).click();
    await counts(lines, 3);
    await page.getByRole("link", { name: "dgx5:2" }).click();
    await page.waitForURL(/\/gpu\//);
    const body = { person: "kim", devices: ["dgx2:0", "dgx2:1"], for: "2h", comment: "for dgx3" };
    assert.equal((await fetch(`${url}/api/v1/bookings`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).status, 201);
    await page.goto(`${url}/events?kind=bookings`);
    await says(lines.first(), /dgx2 booked: kim booked dgx2:0,1 until .*: for dgx3$/);
    const ways = await lines.first().getByRole("link").evaluateAll((all) => all.map((a) => [a.textContent, new URL(a.href).pathname]));
    assert.deepEqual(ways, [["dgx2", "/node/dgx2"], ["kim", "/person/kim"], ["dgx2:0,1", "/node/dgx2"], ["dgx3", "/node/dgx3"]]);
    await page.goto(`${url}/events?range=1w&kind=trouble`);
    await until("the week's trouble", async () => (await lines.count()) > 3);
    await page.setViewportSize({ width: 390, height: 900 });
    await page.emulateMedia({ colorScheme: "dark" });
    await looksRight(page, "events-narrow-dark");
    clean(page);
});
