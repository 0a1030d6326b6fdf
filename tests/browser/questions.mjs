/* Ten questions people ask every day, each answered from the view Now of the demo as one would: how many clicks and typed keys that takes. To open a list and
 * choose from it are two clicks, to drag is one, to point is none. A question that takes more than it says here fails. `./test --long` runs it.
 *
 *     MUSTER_BIN=build node tests/browser/questions.mjs */
import assert from "node:assert/strict";
import { clean, counts, demo, open, refused, says, standing, test, until, words } from "../kit/lib.mjs";

const cell = (page, node, index) => page.locator(`section[aria-label^="${node},"] [data-uuid]`).nth(index);
const view = (page, name) => page.getByRole("navigation", { name: "Views" }).getByRole("link", { name });
const DAY_MS = 86400000;

/** Question, clicks, keys, and the way to the answer. */
const QUESTIONS = [
    ["Who holds dgx1:3 now?", 0, 0, async (page) => {
        await says(cell(page, "dgx1", 3), /kim/);
    }],
    ["Which GPU with 80 GB is free?", 0, 17, async (page, hand) => {
        await hand.type("/free memfree>80G");
        await says(page.locator("h1"), /^(\d+) of 48 match, \1 free: 6 on dgx2/);
        assert.equal(await page.locator(".cell:not(.free)").count(), 0);
    }],
    ["Who held dgx1:3 last night?", 1, 0, async (page, hand) => {
        await hand.click(view(page, "History"));
        const row = page.locator(".night-row[data-row]", { has: page.getByText("dgx1:3", { exact: true }) });
        await until("names", async () => (await row.locator(".holder").count()) > 0);
        assert.match(await row.getByRole("img").getAttribute("aria-label"), /^dgx1:3: \d+\s% on average; held by .*kim/);
    }],
    ["Is my job working?", 0, 0, async (page) => {
        await says(cell(page, "dgx1", 0), /^0 ● kim \d+ %$/);
    }],
    ["How much did team vision use in the last month?", 2, 0, async (page, hand) => {
        await hand.click(view(page, "Usage"));
        await hand.click(page.getByRole("group", { name: "by" }).getByRole("button", { name: "team" }));
        await says(page.locator(".usage tbody tr", { hasText: "vision" }), /^vision [\d,]+\.\d /);
        await says(page.locator("h1"), /of GPU time held in the last 30 days/);
    }],
    ["Book two GPUs for tomorrow", 3, 0, async (page, hand, url) => { /* the third click is the one that books */
        await hand.click(view(page, "Bookings"));
        const track = (i) => standing(page.getByRole("group", { name: `dgx2 GPU ${i}`, exact: true }).locator(".book-track"));
        const [a, b] = [await track(0), await track(1)];
        const days = Number(await page.locator("select[name=days]").inputValue());
        const at = (/* days from the first midnight */ day) => a.x + (a.width * day) / days;
        await hand.drag({ x: at(1.4), y: a.y + 10 }, { x: at(1.7), y: b.y + 10 });
        await hand.click(page.locator("dialog.book").getByRole("button", { name: "Book 2 GPUs" }));
        await says(page.locator(".said"), /^booked: dgx2:0[,–-]1 until /);
        const [made] = (await (await fetch(`${url}/api/v1/bookings`)).json()).rows.filter((one) => one.person === "pia");
        const midnight = new Date().setHours(24, 0, 0, 0);
        assert.ok(made.from >= midnight && made.until <= midnight + DAY_MS, JSON.stringify(made));
    }],
    ["Notify me when dgx3:0 is free", 2, 0, async (page, hand) => {
        refused(page, 409); /* the demo has no channel: the page tells */
        await cell(page, "dgx3", 0).hover();
        await hand.click(page.locator(".details").getByRole("button", { name: "notify me when it is free" }));
        await hand.click(page.locator("dialog.book").getByRole("button", { name: "Notify me" }));
        await says(page.locator(".said"), /^You are in the queue for dgx3:0/);
    }],
    ["Why is dgx5 red?", 0, 0, async (page) => {
        await says(page.locator("section[aria-label^=\"dgx5,\"]"), /driver not responding/);
    }],
    ["Which alerts fired this week?", 2, 0, async (page, hand) => {
        await hand.click(view(page, "Alerts"));
        await says(page.locator("h1"), /critical/);
        await hand.click(page.getByRole("region", { name: "Resolved" }).getByRole("button", { name: "show" }));
        await until("those that are over, too", async () => /none|after/.test(await words(page.getByRole("region", { name: "Resolved" }))));
    }],
    ["Whom do I ask for an idle GPU?", 1, 0, async (page, hand) => {
        await hand.click(view(page, "Users"));
        await says(page.getByRole("region", { name: "idle GPUs" }).locator("tbody"), /dgx1:4 lee/);
    }],
];

/** What counts what is done. */
function handOn(page) {
    const hand = { clicks: 0, keys: 0 };
    hand.click = async (where) => {
        hand.clicks++;
        await where.click();
    };
    hand.drag = async (a, b) => {
        hand.clicks++;
        await page.mouse.move(a.x, a.y);
        await page.mouse.down();
        await page.mouse.move(b.x, b.y, { steps: 5 });
        await page.mouse.up();
    };
    hand.type = async (text) => {
        hand.keys += text.length;
        await page.keyboard.type(text);
    };
    return hand;
}

test("ten everyday questions take few clicks", async (t) => {
    const { url } = await demo(t);
    const localStorage = [{ name: "muster.person", value: "pia" }]; /* who has booked before is known */
    const [found, wanted] = [[], []];
    for (const [question, clicks, keys, answer] of QUESTIONS) {
        const page = await open(t, url, { width: 1440, height: 900, context: { storageState: { cookies: [], origins: [{ origin: new URL(url).origin, localStorage }] } } });
        await counts(page.locator("section .cell"), 48);
        const hand = handOn(page);
        const lost = await answer(page, hand, url).then(() => clean(page)).catch((e) => ` ${e.message}`);
        found.push(`${question} ${hand.clicks} clicks, ${hand.keys} keys${lost ?? ""}`);
        wanted.push(`${question} ${clicks} clicks, ${keys} keys`);
        t.diagnostic(found.at(-1));
        await page.context().close();
    }
    assert.deepEqual(found, wanted);
}, 600000);
