/* The language of the page: the browser's or the one that was chosen, and in Japanese nothing of ours is left in English. */
import assert from "node:assert/strict";
import { chrome, clean, demo, json, open, shared, test, until, words } from "../kit/lib.mjs";

const theDemo = shared(demo);
const japanese = { context: { locale: "ja-JP" } };
const languageOf = (page) => page.evaluate(() => document.documentElement.lang);

test("the page has the browser's language, or the one that is chosen there, and loads no other", async (t) => {
    const { url } = await theDemo();
    const top = new URL(url).origin;
    for (const [asked, lang] of [["ja", "ja"], ["en-US,en;q=0.9,ja;q=0.8", "en"], ["de-DE,de;q=0.9,ja;q=0.8,en;q=0.7", "ja"], ["de", "en"], ["", "en"]]) {
        const html = await (await fetch(top, { headers: { Accept: "text/html", "Accept-Language": asked } })).text();
        assert.match(html, new RegExp(`<html lang="${lang}">`), asked);
    }
    const page = await open(t, top + "/", japanese);
    const files = new Set();
    page.on("request", (r) => files.add(new URL(r.url()).pathname));
    await page.waitForSelector(".cell");
    assert.equal(await languageOf(page), "ja");
    assert.equal(await words(page.getByRole("navigation").getByRole("link").first()), "現在");
    assert.match(await words(page.locator("h1")), /^○ 空き \d+ \/ 48: dgx2 に 6、/);

    const english = new Set((await (await fetch(top, { headers: { Accept: "text/html" } })).text()).match(/\/assets\/[\w/]+-[0-9a-f]{10}\.js/g));
    const ours = new Set((await page.content()).match(/\/assets\/[\w/]+-[0-9a-f]{10}\.js/g));
    assert.deepEqual([...files].filter((f) => english.has(f) && !ours.has(f)), []);

    await page.keyboard.press("?");
    await page.getByRole("button", { name: "English" }).click();
    await until("it is English", async () => (await languageOf(page).catch(() => "")) === "en");
    await page.goto(top + "/alerts");
    assert.equal(await languageOf(page), "en");
    await page.keyboard.press("?");
    await page.getByRole("button", { name: "日本語" }).click();
    await until("it is Japanese", async () => (await languageOf(page).catch(() => "")) === "ja");
    clean(page);
});

/** Every text of the page, and what is said of its parts to those who hover or do not see them. */
const textsOf = (page) => page.evaluate(() => {
    const all = [document.title];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (!walk.currentNode.parentElement.closest("script, noscript, code, pre")) all.push(walk.currentNode.data);
    for (const el of document.querySelectorAll("*")) for (const name of ["title", "aria-label", "placeholder", "alt", "aria-valuetext"]) if (el.getAttribute(name)) all.push(el.getAttribute(name));
    return all;
});

const NAMES = /^([A-Z]+|[GT]iB|[GM]Hz|k?Wh|Ctrl|Enter|Shift|Tensor|Cookie|yaml|admin|English|Esc|Prometheus|muster)$/;
const plain = (text) => text.replaceAll("\u00a0", " ").replace(/\s+/g, " ");

test("in Japanese every English sentence on the page is the hub's own", async (t) => {
    const { url } = await theDemo();
    const top = new URL(url).origin;
    const { nodes } = await json(top + "/api/v1/state");
    const uuid = nodes[0].devices[0].uuid;
    const page = await open(t, top + "/", japanese);
    /** A hub that has too much to do is asked again. */
    async function hear(address) {
        for (let tries = 0, busy = true; busy && tries < 20; tries++) {
            const a = await fetch(address).catch(() => null);
            busy = !a || a.status === 429 || a.status === 503;
            const text = a ? await a.text().catch(() => "") : ""; /* not behind +=, which would forget what came meanwhile */
            told += plain(text);
            if (busy) await new Promise((later) => setTimeout(later, 500));
        }
    }
    let told = plain(await (await fetch(top, { headers: { Accept: "text/html" } })).text() + JSON.stringify(nodes));
    /* What the page asks is asked here once more: a browser forgets an answer when it goes to the next view. */
    page.on("request", (r) => new URL(r.url()).pathname.startsWith("/api/") && !r.url().includes("/stream") && hear(r.url()));
    await page.waitForSelector(".cell");

    /** Where two English words follow each other the hub has said so; one alone is the hub's, or a name. */
    async function check(where) {
        let left;
        await until(`no English at ${where}`, async () => {
            const now = await json(top + "/api/v1/state");
            told += plain(JSON.stringify(now.nodes)).replaceAll('\\"', '"');
            const texts = (await textsOf(page)).map(plain);
            const pieces = texts.flatMap((text) => text.match(/[\x20-\x7e]*[a-z]{2,} [a-z]{2,}[\x20-\x7e]*/g) ?? []);
            left = pieces.flatMap((p) => p.split(/, |: |; | · |\d+/)).map((p) => p.trim()).filter((p) => /[a-z]{2,} [a-z]{2,}/.test(p) && !told.includes(p));
            left.push(...texts.flatMap((text) => text.match(/\b[a-zA-Z]{3,}\b/g) ?? []).filter((w) => !NAMES.test(w) && !told.includes(w)));
            return !left.length;
        }, 20000).catch(() => assert.deepEqual(left, [], where));
    }
    const views = ["/", "/?layout=cards", "/?layout=tiles", "/?layout=grid", "/?layout=table", "/?filter=person:zz", "/history", "/usage", "/usage?in=person:kim&by=device", "/trends", "/reports", "/reports?show=companies", "/bookings", "/people", "/events", "/alerts?all=yes",
        "/person/kim", "/person/zz", "/team/vision", "/node/dgx1", "/node/zz", `/gpu/${uuid}`, "/gpu/dgx1:99", "/login", "/add", "/zz"];
    for (const path of views) {
        await page.goto(top + path);
        await page.waitForFunction(() => document.querySelector("main h1, main h2") && !document.body.innerText.includes("読み込み中"));
        assert.equal(await languageOf(page), "ja");
        await check(path);
    }
    await page.goto(top + "/");
    await page.locator(".cell.busy").first().hover();
    await page.locator(".details dl").waitFor();
    await check("the details of a busy GPU");
    await page.keyboard.press("Control+k");
    await page.locator("dialog.goto").waitFor();
    await check("what Ctrl-K opens");
    await page.keyboard.press("Escape");
    await page.locator("dialog.goto").waitFor({ state: "hidden" });
    await page.keyboard.press("?");
    await page.locator("dialog.help").waitFor();
    await check("the help");
    await page.goto(top + "/bookings");
    await page.getByRole("button", { name: "GPU を予約…" }).click();
    await page.locator("dialog.book").waitFor();
    await check("the form that books");
    assert.ok(told.length > 10000);
});

test("dates and numbers are written as the reader does, also where the page is in another language", async (t) => {
    const { url } = await theDemo();
    const top = new URL(url).origin;
    for (const [locale, power, first] of [["de-DE", /^\d+,\d kW$/, "Mo"], ["en-US", /^\d+\.\d kW$/, "Sun"], ["ja-JP", /^\d+\.\d kW$/, "日"]]) {
        const page = await open(t, top + "/", { context: { locale } });
        await page.waitForSelector(".cell");
        assert.match(await words(page.locator(".counts li[title]").last()), power, locale);
        await page.goto(top + "/trends");
        assert.equal((await words(page.locator(".week tbody th").first())).replace(".", ""), first, locale);
        clean(page);
    }
    const c = await (await chrome()).newContext({ locale: "en-US" });
    await c.addCookies([{ name: "muster_language", value: "ja", url: top }]);
    const page = await c.newPage();
    await page.goto(top + "/trends");
    assert.equal(await words(page.locator(".week tbody th").first()), "日"); /* not Sun in a Japanese page */
    await c.close();
});
