/* The pictures of README.md and docs/, of the demo as it is today; in 256 colours, which is a third of the bytes. Look at them before they are committed.
 *
 *     MUSTER_BIN=build node tests/browser/pictures.mjs */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import zlib from "node:zlib";
import { TOP, chrome, counts, demo, json, open, test, until } from "../kit/lib.mjs";

/** File, address, height, and when it is all there. */
const PICTURES = [
    ["now", "/", 620, (page) => counts(page.locator("section .cell"), 48)],
    ["gpu", "/gpu/dgx1:5?range=1w", 1000, (page) => page.locator(".lanes .track").first().waitFor()],
    ["usage", "/usage?last=7d", 800, (page) => page.locator(".usage tbody tr").first().waitFor()],
    ["history", "/history", 1300, (page) => until("names", async () => (await page.locator(".holder em").count()) > 20)],
];

/** The colours of a PNG that matter most and, row by row, which of them each pixel is, or is nearest to. */
async function palette(png) {
    const page = await (await chrome()).newPage();
    const got = await page.evaluate(async (src) => {
        const img = Object.assign(new Image(), { src });
        await img.decode();
        const { width, height } = img;
        const pen = new OffscreenCanvas(width, height).getContext("2d");
        pen.drawImage(img, 0, 0);
        const { data } = pen.getImageData(0, 0, width, height);
        const colour = (i) => (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
        const times = new Map();
        for (let i = 0; i < data.length; i += 4) times.set(colour(i), (times.get(colour(i)) ?? 0) + 1);
        const vivid = (c) => Math.max(c >> 16, (c >> 8) & 255, c & 255) - Math.min(c >> 16, (c >> 8) & 255, c & 255);
        const worth = new Map([...times].map(([c, n]) => [c, n * (4 + vivid(c))])); /* a mark is few pixels, and its colour says what it is */
        const kept = [...times.keys()].sort((a, b) => worth.get(b) - worth.get(a)).slice(0, 256);
        const apart = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
        const near = new Map([...times.keys()].map((c) => [c, kept.reduce((best, k, i) => (apart(c, k) < apart(c, kept[best]) ? i : best), 0)]));
        const pixels = Array.from({ length: width * height }, (_, i) => near.get(colour(4 * i)));
        return { width, height, kept, pixels };
    }, `data:image/png;base64,${png.toString("base64")}`);
    await page.close();
    return got;
}

const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(zlib.crc32(body));
    return Buffer.concat([length, body, sum]);
};

async function smaller(png) {
    const { width, height, kept, pixels } = await palette(png);
    const head = Buffer.alloc(13);
    head.writeUInt32BE(width, 0);
    head.writeUInt32BE(height, 4);
    head.set([8, 3], 8); /* 8 bits that name a colour */
    const rows = Buffer.alloc((width + 1) * height);
    for (let y = 0; y < height; y++) rows.set(pixels.slice(y * width, (y + 1) * width), y * (width + 1) + 1);
    const colours = Buffer.from(kept.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]));
    return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", zlib.deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

test("pictures of the demo", async (t) => {
    const { url } = await demo(t);
    await until("the week is counted", async () => (await json(url + "/api/v1/usage?last=7d")).waiting === 0);
    await until("its alerts", async () => (await json(url + "/api/v1/alerts")).firing === 3);
    for (const [name, address, height, ready] of PICTURES) {
        const page = await open(t, url + address, { width: 1280, height, dark: name === "gpu" });
        await ready(page);
        await page.waitForTimeout(2000); /* charts are drawn after their numbers have come */
        await writeFile(path.join(TOP, "docs/pictures", `${name}.png`), await smaller(await page.screenshot()));
    }
}, 600000);
