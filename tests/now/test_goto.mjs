/* Getting about with the keyboard: Ctrl-K to go anywhere, the skip link, arrows from GPU to GPU, filters completed and kept. */
import assert from "node:assert/strict";
import { clean, counts, demo, json, looksRight, open, refused, says, shared, test, until } from "../kit/lib.mjs";

const theDemo = shared(demo);
const box = (page) => page.locator("dialog.goto");
const at = async (page) => decodeURIComponent(new URL(page.url()).pathname + new URL(page.url()).search);

async function openBox(page) {
    await page.keyboard.press("Control+k");
    await box(page).waitFor();
}

test("Ctrl-K goes to views, nodes, GPUs and people by a part of their name", async (t) => {
    const { url } = await theDemo();
    const { nodes } = await json(url + "/api/v1/state");
    const gpu = nodes.find((n) => n.name === "dgx4").devices[2];
    const page = await open(t, url);
    await page.locator("[data-uuid]").first().waitFor();
    for (const [typed, first, to] of [["dgx4:2", /^. dgx4:2 GPU, /, `/gpu/${gpu.uuid}`], ["dgx4", /^dgx4 node, /, "/node/dgx4"], ["kim", /^kim user of /, null], ["booki", /^Bookings view$/, "/bookings"]]) {
        await openBox(page);
        await page.keyboard.type(typed);
        await says(box(page).getByRole("option").first(), first);
        await page.keyboard.press("Enter");
        await box(page).waitFor({ state: "detached" });
        await until(`${typed} leads there`, async () => (to ? (await at(page)).split("?")[0] === to : /kim/.test(await at(page))));
    }
    /* from the last one: arrows choose, Escape leads back to where one was */
    await openBox(page);
    await page.keyboard.type("dgx");
    await page.keyboard.press("ArrowDown");
    await says(box(page).locator("[aria-selected=true]"), /^dgx2 /);
    assert.equal(await box(page).getByRole("combobox").getAttribute("aria-activedescendant"), await box(page).locator("[aria-selected=true]").getAttribute("id"));
    await looksRight(page, "goto");
    await page.keyboard.press("Escape");
    await box(page).waitFor({ state: "detached" });
    clean(page);
});

test("a part of the page that does not come is said, with what to do", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url);
    await page.locator("[data-uuid]").first().waitFor();
    refused(page, 404);
    await page.route("**/assets/goto-*.js", (r) => r.fulfill({ status: 404 })); /* as after an upgrade of the hub */
    await page.keyboard.press("Control+k");
    await says(page.getByRole("alert"), "a part of the page could not be loaded The hub may have been upgraded or be unreachable. Load the page again");
    await looksRight(page, "goto-missing");
    clean(page);
});

test("Ctrl-K finds what the filter of the view leaves out, and says when there is no match; on a phone, too", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, `${url}/?filter=host:dgx2`, { width: 390, height: 844, touch: true, dark: true });
    await counts(page.locator("section.node"), 1);
    await page.getByRole("button", { name: "Go to" }).click();
    await box(page).waitFor();
    await page.keyboard.type("dgx5");
    await says(box(page).getByRole("option").first(), /^dgx5 node/);
    await looksRight(page, "goto-phone");
    await page.keyboard.type("xx");
    await says(box(page).getByRole("status"), "No match.");
    clean(page);
});

test("the first Tab reaches a link that skips the navigation; from there arrows go from GPU to GPU, whose labels name the node", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url);
    await page.locator("[data-uuid]").first().waitFor();
    await page.keyboard.press("Tab");
    await says(page.locator(":focus"), "Skip to the content");
    assert.ok((await page.locator(":focus").boundingBox()).y >= 0, "it is seen");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator(":focus").getAttribute("id"), "main");
    await page.locator('[data-uuid][aria-label^="dgx1 GPU 0:"]').focus();
    const label = () => page.locator(":focus").getAttribute("aria-label");
    for (const [key, starts] of [["ArrowRight", "dgx1 GPU 1: "], ["ArrowDown", "dgx2 GPU 1: "], ["ArrowLeft", "dgx2 GPU 0: "], ["ArrowLeft", "dgx1 GPU 7: "]]) {
        await page.keyboard.press(key);
        assert.ok((await label()).startsWith(starts), `${key}: ${await label()}`);
    }
    const names = await page.locator("[data-uuid]").evaluateAll((all) => all.map((e) => e.getAttribute("aria-label")));
    assert.deepEqual(names.filter((n) => !/^dgx\d GPU \d: /.test(n)), []);
    assert.equal(new Set(names.map((n) => n.split(":")[0])).size, names.length);
    await page.goto(`${url}/?layout=tiles`);
    await page.locator('.dot[aria-label^="dgx3 GPU 4: "]').waitFor();
    await page.goto(`${url}/?layout=table`);
    await page.locator('th a[aria-label^="dgx3 GPU 4: "]').waitFor();
    clean(page);
});

test("a filter is completed: names, then the values there are", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url);
    await page.locator("[data-uuid]").first().waitFor();
    const offer = page.locator("#filter-offers [role=option]");
    const filter = () => new URL(page.url()).searchParams.get("filter");
    refused(page, 400); /* half typed text may be invalid */
    await page.keyboard.press("/");
    await says(offer.first(), /^free /);
    await page.keyboard.type("hos");
    await says(offer.first(), /^host: /);
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.locator("#filter").getAttribute("aria-activedescendant"), "offer-0");
    await page.keyboard.press("Enter");
    await says(offer.nth(1), "host:dgx2");
    await looksRight(page, "filter-offers");
    await page.keyboard.type("dgx4");
    await counts(offer, 0);
    await page.keyboard.type(" ki");
    await says(offer.first(), /^person:kim /);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Escape"); /* closes the list and leaves the text */
    await counts(offer, 0);
    assert.equal(await page.locator("#filter").inputValue(), "host:dgx4 ki");
    await page.keyboard.press("ArrowDown");
    await says(offer.first(), /^person:kim /);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await until("it is in force", () => filter()?.trim() === "host:dgx4 person:kim");
    await page.keyboard.press("Escape");
    await until("it is empty", () => !filter());
    clean(page);
});

test("a filter that is kept is offered again, by the box and by Ctrl-K, until it is forgotten", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, `${url}/?filter=busy+host%3Adgx3`);
    const star = page.getByRole("button", { name: "Save this filter" });
    await star.click();
    assert.equal(await star.getAttribute("aria-pressed"), "true");
    await page.goto(`${url}/bookings`);
    await page.locator("#filter").focus();
    await says(page.locator("#filter-offers [role=option]").first(), "busy host:dgx3 saved");
    await page.locator("#filter-offers [role=option]").first().click();
    await until("it is in force", () => page.url().includes("filter=busy+host"));
    await page.goto(url);
    await page.locator("[data-uuid]").first().waitFor();
    await openBox(page);
    await page.keyboard.type("busy host");
    await says(box(page).getByRole("option").first(), "busy host:dgx3 saved filter");
    await page.keyboard.press("Enter");
    await counts(page.locator("section.node"), 1);
    await star.click();
    assert.equal(await star.getAttribute("aria-pressed"), "false");
    await page.goto(url);
    await page.locator("#filter").focus();
    await says(page.locator("#filter-offers [role=option]").first(), /^free /);
    clean(page);
});
