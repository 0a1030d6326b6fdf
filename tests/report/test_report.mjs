/* Reports on the page: which there are, what one looks like now, to download; headings in words. */
import assert from "node:assert/strict";
import { clean, demo, hub, json, looksRight, open, says, test, until, words } from "../kit/lib.mjs";

test("reports are listed, shown and downloaded; what companies had is a table in words", async (t) => {
    const h = await demo(t);
    await until("the week is counted", async () => (await json(h.url + "/api/v1/usage?last=7d")).waiting === 0);
    const page = await open(t, h.url + "/usage", { width: 1440, height: 900 });
    await page.getByRole("link", { name: "reports", exact: true }).click();
    await says(page.locator("h1"), "1 report");
    await says(page.locator(".reports tbody tr").first(), /^daily usage by person per day, not scheduled, \S+ no recipients no channel never HTML text PNG$/);
    await says(page.locator(".report-text"), /^muster: usage by person, .* kim /);
    await until("its chart", () => page.locator(".report-picture").evaluate((i) => i.complete && i.naturalWidth > 100));
    const url = await page.getByRole("link", { name: "HTML" }).first().getAttribute("href");
    assert.match(await (await fetch(h.url + url)).text(), /^<!doctype html>/i);
    await page.getByRole("link", { name: "companies" }).click();
    const head = page.locator(".company-rows thead");
    await says(head, /^Company Week start Total GPU hours \(h\) .* Runs Assigned nodes /);
    assert.ok(!(await words(head)).includes("_"), "words");
    await says(page.locator(".company-rows tbody tr").first(), /^Acme \d{4}-\d\d-\d\d [\d,.]+ /);
    await page.getByLabel("by").selectOption("project");
    await says(head, /^Company Project Total hours Total runs /);
    for (const show of ["daily", "companies"])
        for (const [width, colorScheme] of [[1440, "light"], [1024, "dark"], [390, "light"]]) {
            await page.setViewportSize({ width, height: 900 });
            await page.emulateMedia({ colorScheme });
            await page.goto(`${h.url}/reports?show=${show}`);
            await page.locator(show === "daily" ? ".report-picture" : ".company-rows").waitFor();
            await looksRight(page, `reports-${show}-${width}`);
        }
    clean(page);
}, 240000);

test("where none is set up it is said how", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url + "/reports");
    await says(page.locator("h1"), "no reports");
    await page.getByText("Add them under reports in muster.yaml:").waitFor();
    assert.equal(await page.locator(".error").count(), 0);
    clean(page); /* nothing is asked for that is not there */
});
