/* Network cost of the first cells: number of requests and bytes. No times; bench/page.mjs measures them. */
import assert from "node:assert/strict";
import http from "node:http";
import zlib from "node:zlib";
import { clean, demo, open, shared, test } from "../kit/lib.mjs";

const theDemo = shared(demo);
const REQUESTS = 6;
const BYTES = 46000;

/** Bytes on the wire, gzipped, until the content fits. */
function weigh(url, language, enough) {
    return new Promise((done, failed) => {
        const headers = { Accept: "text/html, */*", "Accept-Encoding": "gzip", "Accept-Language": language };
        const asked = http.get(url, { headers }, (r) => {
            const plain = zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH });
            let bytes = 0;
            let text = "";
            r.on("data", (b) => (bytes += b.length));
            plain.on("data", (b) => {
                text += b;
                if (!enough?.test(text)) return;
                done({ bytes, text });
                asked.destroy();
            });
            plain.on("end", () => done({ bytes, text }));
            plain.on("error", failed);
            r.pipe(plain);
        });
        asked.on("error", failed);
    });
}

const SNAPSHOT = /\nevent: snapshot\n.*\n\n/;

/** Requests made immediately by index.html, including itself and the stream. */
async function asked(top, language) {
    const html = (await weigh(top + "/", language)).text;
    const files = [...html.matchAll(/<(?:script|link)\b[^>]*\b(?:src|href)="([^"]+)"/g)].map(([, path]) => path).filter((path) => !path.endsWith(".svg"));
    return ["/", ...files, "/api/v1/stream"];
}

test("the first cells need few questions", async (t) => {
    const { url } = await theDemo();
    const top = new URL(url).origin;
    const first = await asked(top, "en");
    assert.ok(first.length <= REQUESTS, first.join(" "));

    const page = await open(t, "about:blank");
    await page.route("**", (route) => first.includes(new URL(route.request().url()).pathname) && route.continue()); /* all others never finish */
    await page.goto(top, { waitUntil: "commit" });
    await page.waitForSelector(".cell");
});

for (const language of ["en", "ja"]) {
    test(`the first cells need few bytes: ${language}`, async (t) => {
        const { url } = await theDemo();
        const top = new URL(url).origin;
        const first = await asked(top, language);
        const sizes = [];
        for (const path of first) sizes.push((await weigh(top + path, language, path.startsWith("/api/") ? SNAPSHOT : undefined)).bytes);
        const sum = sizes.reduce((a, b) => a + b);
        assert.ok(sum <= BYTES, `${sum} bytes: ${first.map((path, i) => `${path} ${sizes[i]}`).join(", ")}`);
        t.diagnostic(`${first.length} questions, ${sum} bytes: ${sizes.join(" ")}`);
    });
}

test("every view comes with few files, and what they share comes once", async (t) => {
    const { url } = await theDemo();
    const page = await open(t, new URL(url).origin + "/");
    await page.waitForSelector(".travel"); /* the last module that Now loads */
    const files = [];
    page.on("request", (r) => new URL(r.url()).pathname.startsWith("/assets/") && files.push(r.url()));
    for (const name of ["History", "Usage", "Bookings", "Users", "Events", "Alerts"]) {
        const before = files.length;
        await page.getByRole("navigation").getByRole("link", { name }).click();
        await page.waitForFunction((n) => document.title.startsWith(n) && document.querySelector("main > *:not(.now)"), name);
        assert.ok(files.length - before <= REQUESTS, `${name}: ${files.slice(before).join(" ")}`);
    }
    assert.equal(new Set(files).size, files.length);
    clean(page);
});
