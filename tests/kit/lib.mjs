/* What browser tests share: hubs that end with the test, one Chromium, pages that notice every error, and checks of what a
 * person would see: nothing overlaps, nothing overflows, nothing an assistive technology stumbles over.
 *
 * A test file imports `test` from here. Screenshots go to build/shots/. */
import { spawn } from "node:child_process";
import { access, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import nodeTest from "node:test";
import { fileURLToPath } from "node:url";
import { chromium, firefox } from "../../web/node_modules/playwright-core/index.mjs";

export const TOP = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));
const BIN = process.env.MUSTER_BIN ?? path.join(TOP, "build");
export const MUSTER = path.join(BIN, "muster");
const SHOTS = path.join(TOP, "build/shots");
const LIMIT_MS = 600000; /* generous: a limit only bounds a failing test */

/* ---- programs ---- */

/** The first true value of check(). */
export async function until(what, check, limit = LIMIT_MS) {
    const end = Date.now() + limit;
    for (;;) {
        const got = await check();
        if (got) return got;
        if (Date.now() > end) throw new Error(`waited ${limit / 1000} s in vain: ${what}`);
        await new Promise((go) => setTimeout(go, 50));
    }
}

/** The words of `where` once they are so; fails with what it says instead. */
export async function says(where, wanted) {
    let said;
    return until(`it says ${wanted}`, async () => {
        said = await words(where);
        return (wanted instanceof RegExp ? wanted.test(said) : said === wanted) && said;
    }).catch((late) => {
        throw new Error(`${late.message}; it says: ${said}`);
    });
}

/** There are so many of them, at once or in a moment. */
export async function counts(where, wanted) {
    let n;
    await until(`${wanted} of ${where}`, async () => (n = await where.count()) === wanted).catch((late) => {
        throw new Error(`${late.message}; there are ${n}`);
    });
}

/** Where it is once it stays there: what comes in above it moves it. */
export async function standing(where) {
    let before = "";
    return until(`${where} stands still`, async () => {
        const box = await where.boundingBox();
        const now = JSON.stringify(box);
        const same = now === before;
        before = now;
        return same && box;
    });
}

const ends = new WeakMap();

/** What is to be done when test t is over: the last first, so that a page ends before its hub, and nodes do not wait for one that is gone. */
export function after(t, end) {
    if (!ends.has(t)) {
        ends.set(t, []);
        t.after(async () => {
            let wrong;
            for (const e of ends.get(t).reverse()) await e().catch((x) => (wrong ??= x));
            if (wrong) throw wrong;
        });
    }
    ends.get(t).push(end);
}

/** A program under test, ended with the test t. */
export function start(t, ...argv) {
    const env = Object.fromEntries(Object.entries(process.env).filter(([k]) => !k.startsWith("MUSTER_")));
    const child = spawn(argv[0], argv.slice(1).map(String), { env, stdio: ["ignore", "pipe", "pipe"] });
    const p = { child, text: "", ended: false };
    for (const out of [child.stdout, child.stderr]) out.setEncoding("utf8").on("data", (d) => (p.text += d));
    const over = new Promise((go) => child.on("close", go)).then((code) => { /* all it said was read */
        p.ended = true;
        return code;
    });
    p.stop = async (signal = "SIGTERM") => {
        if (!p.ended) child.kill(signal);
        return over;
    };
    p.line = (pattern) =>
        until(`a line like ${pattern} from ${argv.join(" ")}`, () => {
            const m = p.text.match(pattern);
            if (!m && p.ended) throw new Error(`${argv.join(" ")} ended:\n${p.text}`);
            return m;
        });
    after(t, async () => {
        await p.stop();
        if (/ERROR: (Address|Leak)Sanitizer|runtime error:/.test(p.text)) throw new Error(p.text);
    });
    return p;
}

/** A program that runs to its end; its output. */
export async function run(t, ...argv) {
    const p = start(t, ...argv);
    await until(`the end of ${argv.join(" ")}`, () => p.ended);
    return p.text;
}

export async function folder(t) {
    const dir = await mkdtemp(path.join(tmpdir(), "muster-browser-"));
    after(t, () => rm(dir, { recursive: true, force: true }));
    return dir;
}

async function listening(p, dir) {
    const [url] = await p.line(/https?:\/\/127\.0\.0\.1:\d+(?=\D)/); /* its end was read, too */
    return { p, url, dir, port: Number(new URL(url).port) };
}

/** A port that the kernel gives to nobody: for a hub that goes away and comes back. */
export const ownPort = () => 10000 + Math.floor(Math.random() * 5000);

/** A hub alone: { url, port, dir, p }. port: the one it had before. */
export async function hub(t, { dir, port = 0, flags = [] } = {}) {
    const data = dir ?? (await folder(t));
    return listening(start(t, MUSTER, "hub", "--listen", `127.0.0.1:${port}`, "--data", data, ...flags), data);
}

/** The demo: a hub and six invented nodes. */
export async function demo(t, ...flags) {
    const dir = await folder(t);
    const h = await listening(start(t, MUSTER, "up", "--demo", "--listen", "127.0.0.1:0", "--data", dir, ...flags), dir);
    const isUp = (nodes) => nodes.filter((n) => n.state === "up" && n.devices[0]?.metrics?.util !== undefined).length === 4 && ["hung", "down"].every((s) => nodes.some((n) => n.state === s));
    await until("the demo's nodes", async () => isUp((await json(h.url + "/api/v1/state")).nodes));
    return h;
}

export async function token(t, h, role, ...flags) {
    return (await run(t, MUSTER, "token", "new", "--role", role, "--data", h.dir, ...flags)).trim().split("\n").at(-1);
}

/** Nodes of the simulator, all of them there when this returns. */
export async function simulate(t, h, nodes, ...flags) {
    const p = start(t, MUSTER, "simulate", "--quiet", "--hub", h.url, "--token", await token(t, h, "enroll"), "--nodes", nodes, ...flags);
    await until(`${nodes} nodes`, async () => (await json(h.url + "/api/v1/nodes")).length >= nodes);
    return p;
}

export async function json(url) {
    const r = await fetch(url);
    if (!r.ok) throw new Error(`${url}: ${r.status} ${await r.text()}`);
    return r.json();
}

/* ---- pages ---- */

let browser;

const inFirefox = process.env.MUSTER_BROWSER === "firefox";

/** Chromium, started once per file; or Debian's Firefox, where MUSTER_BROWSER says so. */
export async function chrome() {
    if (browser) return browser;
    const executablePath = inFirefox ? "/usr/bin/firefox-esr" : process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";
    await access(executablePath).catch(() => {
        throw new Error(`${executablePath} is not here: tools/install-deps --${inFirefox ? "firefox" : "test"} installs it`);
    });
    if (inFirefox) browser = await firefox.launch({ channel: "moz-firefox", executablePath, timeout: LIMIT_MS });
    else browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"], timeout: LIMIT_MS });
    return browser;
}

/**
 * A page that remembers in .wrong whatever went wrong in it: errors, violations of its rules, requests that failed or left
 * the hub. A test that does not expect any ends with `clean(page)`.
 */
export async function open(t, url, { width = 1280, height = 800, dark = false, touch = false, context = {} } = {}) {
    const c = await (await chrome()).newContext({
        viewport: { width, height },
        colorScheme: dark ? "dark" : "light",
        hasTouch: touch,
        isMobile: touch && !inFirefox, /* which has no such thing */
        locale: "en-GB", /* times are written as the reader does */
        ...context,
    });
    after(t, () => c.close());
    const page = await c.newPage();
    page.setDefaultTimeout(LIMIT_MS);
    page.wrong = [];
    page.expected = [];
    page.on("console", (m) => ["error", "warning"].includes(m.type()) && page.wrong.push(m.text()));
    page.on("pageerror", (e) => page.wrong.push(String(e)));
    page.on("request", (r) => new URL(r.url()).origin !== new URL(url).origin && page.wrong.push(`leaves the hub: ${r.url()}`));
    await page.goto(url);
    return page;
}

/** Words on the page, as a person reads them. */
export const words = async (where) => (await where.innerText()).replaceAll("\u00a0", " ").replace(/\s+/g, " ").trim();

/** A refusal that is wanted: the browser has a word of its own on it, which may come late. */
export const refused = (page, status) => page.expected.push(`status of ${status}`);

export function clean(page) {
    const wrong = page.wrong.filter((w) => !page.expected.some((e) => w.includes(e)));
    if (wrong.length) throw new Error(`on the page: ${wrong.join("\n")}`);
}

export async function shot(page, name, options = {}) {
    await mkdir(SHOTS, { recursive: true });
    await page.screenshot({ path: path.join(SHOTS, `${name}.png`), caret: "initial", ...options }); /* to hide the caret would need a style that the page's rules forbid */
}

/* ---- what a person would notice ---- */

/** Texts that lie over each other, and what sticks out of the window or of its own box; ours to fix when there are any. */
export function layoutProblems(page) {
    return page.evaluate(() => {
        const wrong = [];
        const root = document.documentElement;
        if (root.scrollWidth > root.clientWidth) wrong.push(`the page is ${root.scrollWidth} px wide in a window of ${root.clientWidth}`);
        const above = document.querySelector("dialog[open], .details, .offers"); /* lies over the rest on purpose */
        /* What a bar that stays in place while the rest scrolls lies over is not seen. */
        const covered = (el, x, y) => {
            for (let over = document.elementFromPoint(x, y); over; over = over.parentElement)
                if (["fixed", "sticky"].includes(getComputedStyle(over).position)) return !over.contains(el);
            return false;
        };
        const texts = [];
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
            const el = walk.currentNode.parentElement;
            const text = walk.currentNode.data.trim();
            if (!text || !el?.checkVisibility?.({ checkOpacity: true, checkVisibilityCSS: true }) || el.closest("script, noscript, option")) continue;
            if (above && !above.contains(el)) continue;
            const range = document.createRange();
            range.selectNodeContents(walk.currentNode);
            for (const r of range.getClientRects()) {
                let { left, right, top, bottom } = r;
                for (let box = el; box; box = box.parentElement) {
                    const style = getComputedStyle(box);
                    if (style.overflow === "visible") continue;
                    const b = box.getBoundingClientRect(); /* what is cut off is not seen */
                    [left, right, top, bottom] = [Math.max(left, b.left), Math.min(right, b.right), Math.max(top, b.top), Math.min(bottom, b.bottom)];
                }
                if (right - left < 1 || bottom - top < 1 || bottom < 0 || top > innerHeight) continue;
                if (covered(el, (left + right) / 2, (top + bottom) / 2)) continue;
                if (right > innerWidth + 1 || left < -1) wrong.push(`'${text}' sticks out of the window`);
                texts.push({ text, el, left, right, top: top + 3, bottom: bottom - 3 });
            }
        }
        texts.sort((a, b) => a.top - b.top);
        for (let i = 0; i < texts.length; i++)
            for (let k = i + 1; k < texts.length && texts[k].top < texts[i].bottom; k++) {
                const [a, b] = [texts[i], texts[k]];
                if (a.el !== b.el && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2) wrong.push(`'${a.text}' and '${b.text}' overlap`);
            }
        return [...new Set(wrong)].slice(0, 20);
    });
}

/** axe's serious and critical findings, each as a line; but: rules that are broken on purpose. */
export async function axeFindings(page, but = []) {
    await page.evaluate(await readFile(path.join(TOP, "web/node_modules/axe-core/axe.min.js"), "utf8"));
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    return violations
        .filter((v) => (v.impact === "serious" || v.impact === "critical") && !but.includes(v.id))
        .map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary?.replace(/\s+/g, " ")}`).join(" | ")}`);
}

/** All of the above, and a picture to look at. */
export async function looksRight(page, name, but = []) {
    await shot(page, name);
    const wrong = [...(await layoutProblems(page)), ...(await axeFindings(page, but))];
    if (wrong.length) throw new Error(`${name}: ${wrong.join("\n")}`);
    clean(page);
}

/* ---- tests ---- */

let named = 0;

let endShared;

/** In place of a test's t: what is started with it serves the whole file. */
const file = { after: (end) => (endShared = end) };

/** What make(t) makes is made once, by the first test that asks for it: for all that only look. */
export function shared(make) {
    let made;
    return () => (made ??= make(file));
}

async function endFile() {
    await endShared?.();
    await browser?.close();
}

/** A test's name is a sentence. limit: ms, for one that is long. */
export function test(name, run_, limit = 2 * LIMIT_MS) {
    if (!named++) nodeTest.after(endFile);
    nodeTest(name, { timeout: limit }, run_);
}
