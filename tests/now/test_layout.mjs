/* Use of space: three font sizes, nothing stuck to the left of a wide window, no name cut while there is room. */
import assert from "node:assert/strict";
import { clean, demo, looksRight, open, shared, test, until } from "../kit/lib.mjs";

const theDemo = shared((t) => demo(t, "--bookings-auth", "open"));
const VIEWS = ["/", "/usage", "/bookings", "/people", "/alerts", "/node/dgx1", "/gpu/dgx1:0"];

/** Visible texts: sizes, the right edge of all content, and names that are cut. */
const seen = (page) =>
    page.evaluate(() => {
        const sizes = new Set();
        const cut = [];
        const walk = document.createTreeWalker(document.getElementById("app"), NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
            const el = walk.currentNode.parentElement;
            if (!/[\p{L}\p{N}]/u.test(walk.currentNode.data) || !el.checkVisibility()) continue; /* marks have their own size */
            sizes.add(getComputedStyle(el).fontSize);
        }
        for (const el of document.querySelectorAll("main .name, main .who, main th[scope=row], main .lane-name, main .book-name, main .book-head button")) if (el.scrollWidth > el.clientWidth + 1) cut.push(el.textContent.trim());
        return { sizes: [...sizes].sort(), cut };
    });

/** Share of the view's width used by lists, tables and charts. */
const reach = (page) =>
    page.evaluate(() => {
        const main = document.getElementById("main").getBoundingClientRect();
        const ends = [...document.querySelectorAll("main table, main ol, main section, main .plot, main .stack, main .calendar")].map((e) => e.getBoundingClientRect().right);
        return (Math.max(...ends) - main.left) / main.width;
    });

for (const width of [1024, 1920])
    test(`at ${width} px: three sizes of type, the width is used, and no name is cut`, async (t) => {
        const { url } = await theDemo();
        const page = await open(t, url, { width, height: 900 });
        for (const path of VIEWS) {
            await page.goto(url + path);
            await until(`${path} is there`, () => page.evaluate(() => document.querySelector("main table, main ol, main section, main .plot") !== null));
            await looksRight(page, `layout-${width}-${path.replaceAll(/\W/g, "-")}`);
            const { sizes, cut } = await seen(page);
            assert.deepEqual(sizes.filter((s) => !["18px", "13px", "12px"].includes(s)), [], path);
            assert.deepEqual(cut, [], path);
            assert.ok((await reach(page)) > 0.9, `${path} is pinned to the left: ${await reach(page)}`);
        }
        clean(page);
    });

test("parts of a view stand beside each other where two fit, and forms stand in the middle", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, `${url}/people`, { width: 1920, height: 900 });
    const box = (where) => page.locator(where).boundingBox();
    await page.locator(".beside .asking").nth(1).waitFor();
    const [a, b] = [await page.locator(".beside .asking").nth(0).boundingBox(), await page.locator(".beside .asking").nth(1).boundingBox()];
    assert.ok(a.y === b.y && b.x > a.x + 600, JSON.stringify([a, b]));
    await page.goto(`${url}/login`);
    await page.locator("form.form").waitFor();
    const form = await box("form.form");
    assert.ok(Math.abs(form.x + form.width / 2 - 960) < 20, JSON.stringify(form));
    clean(page);
});
