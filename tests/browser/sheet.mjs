/* Every view as people meet it: wide, 1024 px, on a phone, dark and printed; of the demo's six nodes, of 200, of 1,000 and of none. Each is a
 * picture in build/shots/sheet/, all of them together build/shots/sheet.png. A view fails that has an error, text over text or out of the window, or,
 * with six nodes, something that axe finds.
 *
 *     MUSTER_BIN=build node tests/browser/sheet.mjs [CLUSTER…]      demo, 200, 1000, none; all of them unless told
 *     MUSTER_BROWSER=firefox …                                      in Firefox, into build/shots/firefox.png */
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { TOP, axeFindings, chrome, clean, demo, hub, json, layoutProblems, open, simulate, test } from "../kit/lib.mjs";
import { views } from "../../web/views.js";

const SHEET = path.join(TOP, "build/shots", process.env.MUSTER_BROWSER ?? "sheet");
const LOOKS = {
    wide: { width: 1440, height: 900 },
    dark: { width: 1440, height: 900, dark: true },
    laptop: { width: 1024, height: 768 },
    phone: { width: 390, height: 844, touch: true },
    print: { width: 800, height: 1130, media: "print" },
};
const CLUSTERS = {
    demo: (t) => demo(t),
    200: (t) => simulated(t, 200),
    1000: (t) => simulated(t, 1000),
    none: (t) => hub(t),
};

async function simulated(t, nodes) {
    const h = await hub(t);
    await simulate(t, h, nodes);
    return h;
}

/** What stands after a path that ends in "/": the first that the cluster has. */
const EXAMPLES = {
    "/node/": (nodes) => nodes[0]?.name,
    "/gpu/": (nodes) => nodes[0]?.devices[0]?.uuid,
    "/team/": (nodes) => nodes.flatMap((n) => n.devices).flatMap((d) => d.processes).flatMap((p) => p.teams ?? [])[0],
    "/person/": (nodes) => nodes.flatMap((n) => n.devices).flatMap((d) => d.processes).map((p) => p.person ?? p.user)[0],
};

/** Name and address of every picture. */
async function addresses(t, h) {
    const { nodes } = await json(h.url + "/api/v1/state");
    const found = [];
    for (const v of views) {
        const example = EXAMPLES[v.path];
        if (v.path.length > 1 && v.path.endsWith("/") && !example) throw new Error(`say what stands after ${v.path}: EXAMPLES`);
        const arg = example ? example(nodes) : "";
        if (arg !== undefined) found.push([v.title, v.path + encodeURIComponent(arg)]);
    }
    const page = await open(t, h.url);
    await atRest(page);
    for (const layout of await page.locator("select[name=layout] option").evaluateAll((all) => all.map((o) => o.value))) found.push([`Now, ${layout}`, `/?layout=${layout}`]);
    await page.context().close();
    return found;
}

/** Until nothing comes any more; a page that never rests is taken as it is. */
async function atRest(page) {
    await page.locator("main > *:visible, #print > *:visible").first().waitFor(); /* printed it may be another than on the screen */
    let before = -1;
    for (let i = 0; i < 12; i++) {
        await page.waitForTimeout(300);
        const now = await page.evaluate(() => document.querySelectorAll("main *").length);
        if (now === before) return;
        before = now;
    }
}

const wrong = [];
const taken = []; /* { cluster, view, look, file } */

async function take(t, h, cluster, [view, address], look) {
    const { media, ...window } = LOOKS[look];
    const page = await open(t, h.url + address, window);
    const name = `${cluster} ${view} ${look}`.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    await atRest(page);
    if (media) {
        await page.emulateMedia({ media });
        await page.evaluate(() => dispatchEvent(new Event("beforeprint"))); /* as a browser does that prints */
        await atRest(page);
    }
    try {
        clean(page); /* before the picture: Firefox says of it that its style is refused */
    } catch (e) {
        wrong.push(`${name}: ${e.message}`);
    }
    const file = path.join(SHEET, `${name}.png`);
    await page.screenshot({ path: file, caret: "initial" });
    taken.push({ cluster, view, look, file });
    const found = cluster === "1000" || media ? [] : await layoutProblems(page);
    if (cluster === "demo" && !media) found.push(...(await axeFindings(page)));
    wrong.push(...found.map((f) => `${name}: ${f}`));
    await page.context().close();
}

/** One picture of all: a row for each view, a column for each look of each cluster. */
async function contactSheet() {
    const columns = [...new Set(taken.map((p) => `${p.cluster} · ${p.look}`))];
    const rows = [...new Set(taken.map((p) => p.view))];
    const cell = (view, column) => {
        const p = taken.find((x) => x.view === view && `${x.cluster} · ${x.look}` === column);
        return p ? `<td><img src="${pathToFileURL(p.file)}"></td>` : "<td>–</td>";
    };
    const text = `<!doctype html><meta charset="utf-8"><title>Every view</title>
<style>body { font: 14px sans-serif; margin: 16px } img { width: 288px; max-height: 400px; object-fit: cover; object-position: top; border: 1px solid #ccc } td, th { vertical-align: top; text-align: left; padding: 4px }</style>
<table><tr><th></th>${columns.map((c) => `<th>${c}</th>`).join("")}</tr>
${rows.map((r) => `<tr><th>${r}</th>${columns.map((c) => cell(r, c)).join("")}</tr>`).join("\n")}</table>`;
    const file = `${SHEET}.html`;
    await writeFile(file, text);
    const page = await (await chrome()).newPage({ viewport: { width: 160 + 300 * columns.length, height: 900 } });
    await page.goto(String(pathToFileURL(file)));
    await page.screenshot({ path: file.replace(/html$/, "png"), fullPage: true });
    await page.close();
}

const asked = process.argv.slice(2);
for (const name of asked) if (!CLUSTERS[name]) throw new Error(`no cluster is called ${name}: ${Object.keys(CLUSTERS).join(", ")}`);
await rm(SHEET, { recursive: true, force: true });
await mkdir(SHEET, { recursive: true });
for (const cluster of asked.length ? asked : Object.keys(CLUSTERS)) {
    test(`every view of the cluster '${cluster}' looks right`, async (t) => {
        const before = wrong.length;
        const h = await CLUSTERS[cluster](t);
        for (const a of await addresses(t, h)) for (const look of Object.keys(LOOKS)) await take(t, h, cluster, a, look);
        await contactSheet();
        if (wrong.length > before) throw new Error(wrong.slice(before).join("\n"));
    }, 1800000);
}
