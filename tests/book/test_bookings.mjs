/* Bookings: by two clicks from a free GPU, by dragging, on a phone, with the keyboard; refused ones lose nothing; beside the real use. */
import assert from "node:assert/strict";
import { clean, counts, demo, hub, json, layoutProblems, looksRight, open, refused, says, shared, shot, simulate, standing, test, token, until, words } from "../kit/lib.mjs";

const HOUR = 3600000;
const EVIL = ["Robert'); DROP TABLE", "<img onerror=boom()>"];

/** One demo where names are typed; each test has GPUs of its own. */
const theDemo = shared((t) => demo(t, "--bookings-auth", "open"));

const cell = (page, node, index) => page.locator(`section[aria-label^="${node},"] [data-uuid]`).nth(index);
const lane = (page, node, index) => page.getByRole("group", { name: `${node} GPU ${index}`, exact: true });
/** Nodes on which nothing is free or booked come folded. */
async function unfold(page, node) {
    const head = page.locator(".book-head button", { hasText: node }).first();
    await head.waitFor();
    if ((await head.getAttribute("aria-expanded")) === "false") await head.click();
}
const dialog = (page) => page.locator("dialog.book");
const text = (ms) => new Date(ms - new Date(ms).getTimezoneOffset() * 60000).toISOString().slice(0, 16);

async function send(url, method, path, body) {
    const r = await fetch(url + path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    return { status: r.status, body: await r.json() };
}

const booked = async (url, person) => (await json(`${url}/api/v1/bookings?me=${encodeURIComponent(person)}`)).rows.filter((b) => b.person === person);

/** Midnight of tomorrow, of the browser's zone as of ours. */
function tomorrow() {
    const d = new Date();
    return new Date(d.getFullYear(), d.getMonth(), d.getDate() + 1).getTime();
}
const day = (ms) => text(ms).slice(0, 10);

/** A page that remembers this name, as after a first booking. */
function openAs(t, url, person, options = {}) {
    const localStorage = [{ name: "muster.person", value: person }];
    return open(t, url, { ...options, context: { storageState: { cookies: [], origins: [{ origin: new URL(url).origin, localStorage }] } } });
}

test("a free GPU is booked by two clicks", async (t) => {
    const { url } = await theDemo();
    const page = await openAs(t, url, "kim");
    await cell(page, "dgx2", 3).hover();
    const before = Date.now();
    await page.locator(".details").getByRole("button", { name: "book" }).click();
    await dialog(page).waitFor();
    await says(dialog(page).locator("h2"), "Book dgx2:3");
    await looksRight(page, "book-form");
    await dialog(page).getByRole("button", { name: "Book 1 GPU" }).click();
    await dialog(page).waitFor({ state: "detached" });
    await says(page.locator(".said"), /^booked: dgx2:3 until /);
    const [b] = await booked(url, "kim");
    assert.deepEqual([b.where, b.person, b.state], ["dgx2:3", "kim", "active"]);
    assert.ok(b.from >= before - 1000 && Math.abs(b.until - b.from - 4 * HOUR) <= 120000, `${b.from} ${b.until}`);

    /* the cell says so by itself; of one that is booked for later, for how long it is free */
    const later = await send(url, "POST", "/api/v1/bookings", { person: "lee", gpus: "dgx2:5", from: Date.now() + 2 * HOUR, until: Date.now() + 3 * HOUR, comment: "a demo" });
    assert.equal(later.status, 201);
    await until("the cell", async () => (await words(cell(page, "dgx2", 3))) === "3 ◐ kim booked");
    await page.mouse.move(2, 2);
    await cell(page, "dgx2", 3).hover();
    const details = page.locator(".details");
    await until("who, until when", async () => (await details.count()) && /booked until [\w, -]*\d\d:\d\d by kim/.test(await words(details)));
    await until("the other cell", async () => /^5 ○ free –\d\d:\d\d$/.test(await words(cell(page, "dgx2", 5))));
    await page.mouse.move(2, 2);
    await cell(page, "dgx2", 5).hover();
    await until("who, from when", async () => (await details.count()) && /booked from [\w, -]*\d\d:\d\d by lee \(a demo\)/.test(await words(details)));
    await looksRight(page, "now-booked");
});

test("a booking that ends today has the time of day, another one its date", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url, { context: { locale: "en-GB", timezoneId: "UTC" } });
    const at = Date.UTC(2026, 11, 28, 10, 0);
    const cases = [[Date.UTC(2026, 11, 28, 23, 59), "23:59"], [Date.UTC(2026, 11, 31, 8, 5), "2026-12-31 08:05"], [Date.UTC(2026, 2, 5, 14, 0), "2026-03-05 14:00"],
        [Date.UTC(2027, 0, 1, 0, 0), "2027-01-01 00:00"], [Date.UTC(2027, 11, 28, 10, 0), "2027-12-28 10:00"], [Date.UTC(2025, 11, 30, 9, 0), "2025-12-30 09:00"]];
    for (const [ms, wanted] of cases) {
        const said = await page.evaluate(async ([a, b]) => (await import("/assets/main.js")).$kit_format.moment(a, b), [ms, at]);
        assert.equal(said.replaceAll("\u00a0", " "), wanted);
    }
    const year = new Date().getUTCFullYear() + 2;
    assert.equal((await send(url, "POST", "/api/v1/bookings", { person: "zoe", gpus: "dgx3:7", until: Date.UTC(year, 2, 5, 14, 0) })).status, 201);
    await page.goto(`${url}/bookings`);
    await says(page.locator("tr", { hasText: "zoe" }), new RegExp(`${year}-03-05 14:00`));
    clean(page);
});

test("who has not been asked for a name yet is asked once; Enter books", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, url);
    await cell(page, "dgx2", 4).hover();
    await page.locator(".details").getByRole("button", { name: "book" }).click();
    await page.waitForFunction(() => document.activeElement?.name === "person");
    await page.keyboard.type("new hand");
    await page.keyboard.press("Enter");
    await dialog(page).waitFor({ state: "detached" });
    assert.equal((await booked(url, "new hand"))[0].where, "dgx2:4");
    await page.goto(url + "/bookings");
    await lane(page, "dgx2", 5).getByRole("button").first().click();
    await dialog(page).waitFor();
    assert.equal(await dialog(page).getByLabel("user").inputValue(), "new hand");
    clean(page);
});

test("dragging books, moves an end, and gives way to what is booked; keys do the same", async (t) => {
    const { url } = await theDemo();
    const from = tomorrow();
    const page = await openAs(t, `${url}/bookings?days=1&from=${day(from)}`, "ana");
    await unfold(page, "dgx3");
    await lane(page, "dgx3", 0).waitFor();
    const track = (i) => standing(lane(page, "dgx3", i).locator(".book-track"));
    const a = await track(0);
    const b = await track(2);
    const at = (hour) => a.x + (a.width * hour) / 24;
    await page.mouse.move(at(6) + 1, a.y + 10);
    await page.mouse.down();
    await page.mouse.move(at(8), a.y + 12, { steps: 3 });
    await page.mouse.move(at(12), b.y + 10, { steps: 3 });
    await shot(page, "book-drag");
    await page.mouse.up();
    await dialog(page).waitFor();
    await says(dialog(page).locator("h2"), "Book dgx3:0,1,2");
    assert.equal(await dialog(page).getByLabel("from").inputValue(), text(from + 6 * HOUR));
    assert.equal(await dialog(page).getByLabel("until").inputValue(), text(from + 12 * HOUR));
    await dialog(page).getByLabel("purpose").fill("ablations");
    await page.keyboard.press("Enter");
    await dialog(page).waitFor({ state: "detached" });
    const mine = async () => (await booked(url, "ana"))[0];
    assert.deepEqual([(await mine()).where, (await mine()).from, (await mine()).until], ["dgx3:0,1,2", from + 6 * HOUR, from + 12 * HOUR]);

    /* its end, to the right: no further than what comes next */
    const next = await send(url, "POST", "/api/v1/bookings", { person: "tom", gpus: "dgx3:1", from: from + 15 * HOUR, until: from + 17 * HOUR });
    assert.equal(next.status, 201);
    await page.reload();
    await lane(page, "dgx3", 1).waitFor(); /* something is booked there: it is not folded */
    const bar = lane(page, "dgx3", 1).locator(".booking.mine");
    const drag = async (grip, hour) => {
        await bar.waitFor();
        const g = await standing(bar.locator(`[data-grip=${grip}]`));
        await page.mouse.move(g.x + g.width / 2, g.y + 4);
        await page.mouse.down();
        await page.mouse.move(at(hour) - 10, g.y + 4, { steps: 3 });
        await page.mouse.move(at(hour), g.y + 4);
        await page.mouse.up();
    };
    await lane(page, "dgx3", 1).locator(".booking").getByText("tom").waitFor();
    await drag("until", 20);
    await until("it reaches the next one", async () => (await mine()).until === from + 15 * HOUR);
    await until("it is shown", async () => (await bar.getAttribute("aria-label")).includes("(9 h)".replace(" ", "\u00a0")));
    await drag("until", 11);
    await until("it is shorter", async () => (await mine()).until === from + 11 * HOUR);
    await drag("from", 8);
    await until("it begins later", async () => (await mine()).from === from + 8 * HOUR);
    assert.equal((await mine()).until, from + 11 * HOUR);

    /* keys */
    await until("it is shown", async () => (await bar.getAttribute("aria-label")).includes("(3 h)".replace(" ", "\u00a0")));
    const before = await bar.getAttribute("aria-label");
    await bar.focus();
    await page.keyboard.press("Shift+ArrowRight");
    await until("a quarter more", async () => (await mine()).until === from + 11.25 * HOUR);
    await until("it is shown", async () => (await bar.getAttribute("aria-label")) !== before);
    await bar.focus();
    await page.keyboard.press("Enter");
    await dialog(page).waitFor();
    await dialog(page).getByLabel("purpose").fill("");
    await dialog(page).getByLabel("purpose").fill("ablations, again");
    await dialog(page).getByRole("button", { name: "Save" }).click();
    await until("the new words", async () => (await mine()).comment === "ablations, again");
    await dialog(page).waitFor({ state: "detached" });

    /* a click on somebody else's says whose it is and offers no change */
    await lane(page, "dgx3", 1).locator(".booking").getByText("tom").click();
    await says(dialog(page), /^dgx3:1 booked by tom, .* Back$/);
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });

    await bar.click();
    await dialog(page).getByRole("button", { name: "Cancel the booking" }).click();
    await until("it is gone", async () => !(await booked(url, "ana")).length);
    await bar.waitFor({ state: "detached" });
    clean(page);
});

test("with the keyboard alone: to a GPU, book it, back", async (t) => {
    const { url } = await theDemo();
    const page = await openAs(t, `${url}/bookings`, "joe");
    await unfold(page, "dgx1");
    await lane(page, "dgx1", 0).getByRole("button").first().focus();
    for (let i = 0; i < 8; i++) await page.keyboard.press("ArrowDown"); /* eight of dgx1, then dgx2:0 */
    await page.keyboard.press("Enter");
    await dialog(page).waitFor();
    await says(dialog(page).locator("h2"), "Book dgx2:0");
    await page.keyboard.press("Enter"); /* the button has the focus */
    await dialog(page).waitFor({ state: "detached" });
    assert.equal((await booked(url, "joe"))[0].where, "dgx2:0");
    await until("back where one was", () => lane(page, "dgx2", 0).getByRole("button").first().evaluate((e) => e === document.activeElement));
    clean(page);
});

test("on a phone: tap a row, a form, done; tap it again to release it", async (t) => {
    const { url } = await theDemo();
    const page = await openAs(t, `${url}/bookings`, "mia", { width: 390, height: 844, touch: true });
    const row = lane(page, "dgx2", 1);
    await row.waitFor();
    await looksRight(page, "bookings-phone");
    await row.getByRole("button").first().tap();
    await dialog(page).waitFor();
    await looksRight(page, "book-form-phone");
    await dialog(page).getByRole("button", { name: "1 h", exact: true }).tap();
    await dialog(page).getByRole("button", { name: "Book 1 GPU" }).tap();
    await dialog(page).waitFor({ state: "detached" });
    const [b] = await booked(url, "mia");
    assert.equal(b.where, "dgx2:1");
    assert.ok(b.until - b.from <= HOUR && b.until - b.from > HOUR - 120000);
    await row.locator(".booking.mine").tap();
    await dialog(page).getByRole("button", { name: "Release now" }).tap();
    await until("it is free again", async () => !(await booked(url, "mia")).length);
    clean(page);
});

test("what is refused says why and stays in the form", async (t) => {
    const { url } = await theDemo();
    const from = tomorrow() + 24 * HOUR;
    const page = await openAs(t, `${url}/bookings?days=1&from=${day(from)}`, "kim");
    const row = lane(page, "dgx4", 2);
    await row.waitFor();
    const { width } = await standing(row.locator(".book-track"));
    await row.locator(".book-track").click({ position: { x: width / 2 + 2, y: 12 } }); /* noon */
    await dialog(page).waitFor();
    await dialog(page).getByLabel("purpose").fill("a long sentence that nobody wants to type again");
    const other = await send(url, "POST", "/api/v1/bookings", { person: "lee", gpus: "dgx4:2", from: from + 10 * HOUR, until: from + 13 * HOUR });
    assert.equal(other.status, 201);
    await dialog(page).getByRole("button", { name: "Book 1 GPU" }).click();
    await says(dialog(page).getByRole("alert"), /^dgx4:2 is booked by lee .*until .*13:00 UTC$/);
    assert.equal(await dialog(page).getByLabel("purpose").inputValue(), "a long sentence that nobody wants to type again");
    refused(page, 409);
    await looksRight(page, "book-refused");
    await dialog(page).getByLabel("from").fill(text(from + 13 * HOUR));
    await dialog(page).getByLabel("until").fill(text(from + 15 * HOUR));
    await dialog(page).getByRole("button", { name: "Book 1 GPU" }).click();
    await dialog(page).waitFor({ state: "detached" });
    assert.ok((await booked(url, "kim")).some((b) => b.where === "dgx4:2" && b.comment.startsWith("a long sentence")));
    clean(page);
});

test("any that are free: so many of a model", async (t) => {
    const { url } = await theDemo();
    const page = await openAs(t, `${url}/bookings`, "raj");
    await page.getByRole("button", { name: "book GPUs" }).click();
    await dialog(page).getByLabel("how many").fill("2");
    await dialog(page).getByLabel("model").selectOption({ label: "NVIDIA H200" });
    await dialog(page).getByRole("button", { name: "another time" }).click();
    await dialog(page).getByLabel("from").fill(text(tomorrow() + 50 * HOUR));
    await dialog(page).getByRole("button", { name: "1 d" }).click();
    await dialog(page).getByRole("button", { name: "Book 2 GPUs" }).click();
    await dialog(page).waitFor({ state: "detached" });
    const [b] = await booked(url, "raj");
    assert.equal(b.devices.length, 2);
    assert.equal(b.until - b.from, 24 * HOUR);
    clean(page);
});

test("a booking and the real use are shown together, and names are just names", async (t) => {
    const { url } = await theDemo();
    for (const [person, gpus, comment] of [["lee", "dgx1:0", ""], [EVIL[0], "dgx2:2", EVIL[1]], [EVIL[1], "dgx1:3", EVIL[0]]]) {
        const made = await send(url, "POST", "/api/v1/bookings", { person, gpus, for: "6h", comment });
        assert.equal(made.status, 201, JSON.stringify(made.body));
    }
    const page = await open(t, url + "/bookings", { width: 1600, height: 1000 });
    await page.exposeFunction("boom", () => page.wrong.push("a name was run"));
    await lane(page, "dgx1", 0).locator(".booking.active").waitFor();
    await says(lane(page, "dgx1", 0).locator(".booking.active em"), "used by kim");
    const unused = /^dgx2:2 booked by Robert'\); DROP TABLE, .*: <img onerror=boom\(\)>; booked but unused$/;
    await until("it is not used", async () => unused.test(await lane(page, "dgx2", 2).locator(".booking.active").getAttribute("aria-label")));
    await lane(page, "dgx1", 0).locator(".used.not-theirs").first().waitFor({ state: "attached" });
    assert.match(await lane(page, "dgx1", 0).locator(".used.not-theirs").first().getAttribute("title"), /^used by kim .*while booked by lee$/);
    await lane(page, "dgx1", 5).locator(".used").first().waitFor({ state: "attached" }); /* rows without a booking have it as well */
    const list = page.locator(".book-list");
    for (const name of EVIL) await until(name, async () => (await words(list)).includes(name));
    assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script").length), 0);
    for (const [width, height] of [[1600, 1000], [390, 844]])
        for (const colorScheme of ["light", "dark"]) {
            await page.setViewportSize({ width, height });
            await page.emulateMedia({ colorScheme });
            await looksRight(page, `bookings-${width}-${colorScheme}`);
        }
    await page.goto(url + "/bookings?days=14");
    await lane(page, "dgx1", 0).locator(".booking.active").waitFor();
    await looksRight(page, "bookings-2-weeks");
    const ics = await page.getByRole("link", { name: /ICS/ }).getAttribute("href");
    assert.ok((await (await fetch(url + ics)).text()).startsWith("BEGIN:VCALENDAR"));
    clean(page);
});

test("of two GPUs booked together with somebody on one, only that one is said to be used", async (t) => {
    const { url } = await theDemo();
    const made = await send(url, "POST", "/api/v1/bookings", { person: "lee", gpus: "dgx1:1 dgx4:7", for: "6h" });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const page = await open(t, url + "/bookings", { width: 1600 });
    const bar = (node, i) => lane(page, node, i).locator(`[data-id="${made.body.id}"]`);
    await says(bar("dgx1", 1), "lee used by kim");
    await says(bar("dgx4", 7), "lee unused");
    assert.match(await bar("dgx4", 7).getAttribute("aria-label"), /; used by kim on dgx1:1$/);
    const cut = await bar("dgx1", 1).evaluate((e) => [e.clientWidth < e.querySelector("span").clientWidth, e.querySelector("span").scrollWidth > e.querySelector("span").clientWidth]);
    assert.deepEqual(cut, [true, false], "the words are longer than the bar of 6 h, and are not cut");
    await says(page.locator(".book-list tr", { hasText: "dgx1:1 dgx4:7" }), /used by kim on dgx1:1$/);
    clean(page);
});

test("with tokens: who is not logged in is told so; a member books for themselves; an admin for anybody", async (t) => {
    const h = await hub(t);
    await simulate(t, h, 2, "--gpus", 2);
    const page = await open(t, h.url + "/bookings");
    await unfold(page, "sim1");
    await page.locator(".book-name").first().click();
    await dialog(page).waitFor();
    await says(dialog(page), /To book GPUs, log in\./);
    assert.ok(await dialog(page).getByRole("button", { name: "Book 1 GPU" }).isDisabled());
    await looksRight(page, "book-log-in");
    await dialog(page).getByRole("link", { name: "log in" }).click();
    await page.getByLabel("Token").fill(await token(t, h, "member", "--person", "kim"));
    await page.keyboard.press("Enter");
    await unfold(page, "sim1");
    await page.locator(".book-name").first().click();
    await dialog(page).waitFor();
    await says(dialog(page), /for kim/);
    await dialog(page).getByRole("button", { name: "Book 1 GPU" }).click();
    await page.locator(".calendar .booking.mine").waitFor();
    clean(page);
});

test("nodes on which nothing is free or booked come folded and say what they do; a booking unfolds its node", async (t) => {
    const h = await demo(t, "--bookings-auth", "open");
    const page = await open(t, h.url + "/bookings", { width: 1440 });
    const { nodes } = await json(h.url + "/api/v1/state");
    const full = nodes.filter((n) => !n.devices.some((d) => d.state === "free" || d.booking || d.next)).map((n) => n.name);
    assert.ok(full.includes("dgx5") && !full.includes("dgx6"), full.join());
    for (const n of nodes) {
        const head = page.locator(".book-head button", { hasText: n.name });
        await head.waitFor();
        assert.equal(await head.getAttribute("aria-expanded"), `${!full.includes(n.name)}`, n.name);
    }
    await says(page.locator(".book-head", { hasText: "dgx5" }), /dgx5 ○ 0 of 8 .* ✕ 8 not responding$/);
    await looksRight(page, "bookings-folded");
    assert.equal((await send(h.url, "POST", "/api/v1/bookings", { person: "lee", gpus: "dgx5:1", for: "6h" })).status, 201);
    await page.reload();
    await lane(page, "dgx5", 1).locator(".booking").waitFor();
    clean(page);
});

test("days of the calendar are written as the reader writes them, moments in one form", async (t) => {
    const { url } = await theDemo();
    for (const [locale, axis, days, at] of [["en-US", /^16 Mon/, "Nov 16 – 22", /^2026-11-17 14:05$/], ["de-DE", /^Mo\.?,? 16/, "16.–22. Nov.", /^2026-11-17 14:05$/], ["en-GB", /^Mon 16/, "16 – 22 Nov", /^2026-11-17 14:05$/]]) {
        const page = await open(t, `${url}/bookings?from=2026-11-16`, { context: { locale, timezoneId: "UTC" } });
        await says(page.locator(".turn-to b"), days);
        await says(page.locator(".book-axis .book-track"), axis);
        const said = await page.evaluate(async ([a, b]) => (await import("/assets/main.js")).$kit_format.moment(a, b), [Date.UTC(2026, 10, 17, 14, 5), Date.UTC(2026, 10, 16, 9)]);
        assert.match(said.replace(/[\u00a0\u202f]/g, " "), at);
        clean(page);
    }
});

test("of a GPU that is taken one is told when it is free: by this page where no channel leads to one", async (t) => {
    const { url } = await theDemo();
    const taken = await send(url, "POST", "/api/v1/bookings", { person: "lee", gpus: "dgx4:6", for: "6h" });
    assert.equal(taken.status, 201, JSON.stringify(taken.body));
    const page = await openAs(t, url, "pia");
    await page.context().grantPermissions(["notifications"]);
    await page.addInitScript(() => {
        window.Notification = class {
            static permission = "granted";
            static requestPermission = async () => "granted";
            constructor(title) {
                (window.told ??= []).push(title);
            }
        };
    });
    const bodies = [];
    page.on("request", (r) => r.method() === "POST" && r.url().endsWith("/api/v1/waits") && bodies.push(r.postDataJSON()));
    await page.reload();
    await until("the cell", async () => (await words(cell(page, "dgx4", 6))) === "6 ◐ lee booked");
    await cell(page, "dgx4", 6).hover();
    const tell = page.locator(".details").getByRole("button", { name: "notify me when it is free" });
    assert.equal(await tell.getAttribute("class"), "main");
    await counts(page.locator(".details button", { hasText: /^book$/ }), 0);
    await tell.click();
    await says(dialog(page).locator("h2"), "Notify me when dgx4:6 is free");
    assert.ok(await dialog(page).getByRole("checkbox").isChecked());
    await looksRight(page, "book-tell");
    refused(page, 409); /* the demo has no channel */
    await dialog(page).getByRole("button", { name: "Notify me" }).click();
    await says(page.locator(".said"), "You are in the queue for dgx4:6. The hub has no Slack or mail address for you: keep this page open, or you leave the queue.");
    assert.deepEqual(bodies.map((b) => [b.node, b.person, b.tell]), [["dgx4:6", "pia", true], ["dgx4:6", "pia", undefined]]);

    /* one goes on being in line after loading the page again, and sees it there */
    await page.goto(`${url}/bookings`);
    await says(page.getByRole("region", { name: "Users in the queue" }), /pia dgx4:6 .* next leave$/);
    await looksRight(page, "bookings-in-line");
    const gone = await fetch(`${url}/api/v1/bookings/${taken.body.id}?person=lee`, { method: "DELETE" });
    assert.equal(gone.status, 200);
    await says(page.locator(".said"), /^dgx4:6 is free and reserved for you until ([\d-]+ )?\d\d:\d\d close$/);
    assert.match((await page.evaluate(() => window.told))[0], /^dgx4:6 is free and reserved for you until/);
    await page.locator(".said").getByRole("button", { name: "close" }).click();
    await page.getByRole("button", { name: "release dgx4:6" }).click();
    await until("it is given back", async () => !(await json(`${url}/api/v1/waits`)).rows.some((w) => w.person === "pia"));
    clean(page);
});

/** Nothing lies over it, and a pointer reaches it. */
const isOnTop = (where) => where.evaluate((el) => {
    const { left, top, width, height } = el.getBoundingClientRect();
    return el.contains(document.elementFromPoint(left + width / 2, top + height / 2));
});

test("two turns are both said over the form that is open; only a place that is gone is forgotten", async (t) => {
    const { url } = await theDemo();
    const page = await openAs(t, url, "vic");
    const yours = (id) => ({ json: { id, person: "vic", state: "yours", where: `dgx4:${id}`, until: Date.now() + HOUR, devices: [] } });
    const problem = (status, detail) => ({ status, json: { detail } });
    const answers = { 1: yours(1), 2: yours(2), 3: problem(429, "too many questions"), 4: problem(404, "there is no wait 4") };
    let release;
    const formIsOpen = new Promise((on) => (release = on));
    await page.route("**/api/v1/waits/*", async (route) => {
        await formIsOpen;
        await route.fulfill(answers[/waits\/(\d)/.exec(route.request().url())[1]]);
    });
    [429, 404].forEach((status) => refused(page, status));
    await page.evaluate(() => localStorage.setItem("muster.waits", '[[1,"vic"],[2,"vic"],[3,"vic"],[4,"vic"]]'));
    await page.reload();
    await cell(page, "dgx2", 5).hover();
    await page.locator(".details").getByRole("button", { name: "book" }).click();
    await dialog(page).waitFor();
    release();
    await counts(page.locator(".said"), 3);
    assert.ok(await dialog(page).isVisible());
    const { y, height } = await dialog(page).boundingBox();
    assert.ok(Math.abs(y + height / 2 - page.viewportSize().height / 2) < 2, `the form stands in the middle: ${y}, ${height}`);
    await says(page.locator(".said").nth(0), /^dgx4:1 is free/);
    await says(page.locator(".said").nth(2), "you are no longer in the queue: there is no wait 4 close");
    for (let i = 0; i < 3; i++) assert.ok(await isOnTop(page.locator(".said").nth(i)), `message ${i} lies behind the form`);
    await looksRight(page, "bookings-said-over-form");
    await page.locator(".said").nth(0).getByRole("button", { name: "close" }).click(); /* under the form, too */
    await counts(page.locator(".said"), 2);
    await says(page.locator(".said").nth(0), /^dgx4:2 is free/);
    await dialog(page).getByRole("button", { name: "Back" }).click();
    await counts(dialog(page), 0);
    await counts(page.locator(".said"), 2);
    await page.keyboard.press("?"); /* a dialog that comes after them */
    await page.locator("dialog.help").waitFor();
    await until("they are on it", () => isOnTop(page.locator(".said").nth(1)));
    await page.keyboard.press("Escape");
    await counts(page.locator("dialog"), 0);
    await until("and stay when it goes", () => isOnTop(page.locator(".said").nth(1)));
    assert.equal(await page.evaluate(() => localStorage.getItem("muster.waits")), '[[3,"vic"]]');
    clean(page);
});

test("a GPU that somebody is on offers to tell first and to book after it; a free one to book", async (t) => {
    const { url } = await theDemo();
    const page = await openAs(t, url, "uma");
    const { nodes } = await json(url + "/api/v1/state");
    const busy = nodes.find((n) => n.name === "dgx1").devices.findIndex((d) => d.state === "busy" && !d.booking);
    await cell(page, "dgx1", busy).hover();
    await counts(page.locator(".details button.main"), 1);
    assert.deepEqual(await page.locator(".details button:not(.close)").allInnerTexts(), ["notify me when it is free", "book"]);
    await says(page.locator(".details button.main"), "notify me when it is free");
    clean(page);
});

test("200 nodes come folded; unfolded, only what is near the window exists", async (t) => {
    const h = await hub(t, { flags: ["--bookings-auth", "open"] });
    await simulate(t, h, 200);
    for (let i = 1; i <= 40; i++) assert.equal((await send(h.url, "POST", "/api/v1/bookings", { person: `p${i % 7}`, gpus: `sim${i}:${i % 8},${(i + 3) % 8}`, for: `${i}h` })).status, 201);
    const page = await open(t, h.url + "/bookings", { width: 1600, height: 1000 });
    await until("the nodes", async () => (await page.locator(".book-head").count()) > 30);
    await page.locator(".folded i").first().waitFor({ state: "attached" });
    assert.equal(await page.locator(".book-row").count(), 0);
    assert.ok((await page.locator(".book-head").count()) < 120);
    await looksRight(page, "bookings-200");
    await page.getByRole("button", { name: /sim2 / }).click();
    await lane(page, "sim2", 7).waitFor();
    await counts(page.locator(".book-row"), 8);
    await page.getByRole("button", { name: "unfold all" }).click();
    await until("rows", async () => (await page.locator(".book-row").count()) > 8);
    assert.ok((await page.locator(".book-row").count()) < 150);
    await shot(page, "bookings-200-unfolded");
    assert.deepEqual(await layoutProblems(page), []);
    clean(page);
});

test("nothing at all is said, not an empty calendar", async (t) => {
    const h = await hub(t);
    const page = await open(t, h.url + "/bookings");
    await page.getByText("Add the first one").waitFor();
    await page.getByRole("heading", { name: "nothing is booked now" }).waitFor();
    await looksRight(page, "bookings-none");
});
