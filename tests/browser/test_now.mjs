/* Now: which GPU is free without a click, who holds one with one hover, filters, places that stay, every kind of cluster. */
import assert from "node:assert/strict";
import { clean, demo, hub, looksRight, open, simulate, test, until, words } from "./lib.mjs";

test("which GPU is free: no click", async (t) => {
    const h = await demo(t);
    const page = await open(t, h.url);
    await page.waitForSelector(".cell");
    assert.match(await words(page.locator("h1")), /^\d+ of 48 free: \d+ on dgx/);
    assert.match(await words(page.locator(".counts")), /○ \d+ free ◐ \d+ held ● \d+ busy/);
    assert.equal(await page.locator(".cell").count(), 48);
    await looksRight(page, "now-demo");
});
