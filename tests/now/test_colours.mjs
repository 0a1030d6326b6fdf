/* Computed colour checks: text has enough contrast on every background, in both themes and for users with colour
 * blindness; states stay distinct; the terminal and exported charts use the page's colours. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test, TOP } from "../kit/lib.mjs";

const read = (name) => readFile(path.join(TOP, name), "utf8");
const channels = (hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);

/* Colour vision without one kind of cones, linear RGB to linear RGB: Machado, Oliveira, Fernandes 2009, severity 1. */
const SIGHT = {
    "all colours": [1, 0, 0, 0, 1, 0, 0, 0, 1],
    protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
    deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
    tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
    "no colours": [0.2126, 0.7152, 0.0722, 0.2126, 0.7152, 0.0722, 0.2126, 0.7152, 0.0722],
};
const seen = (hex, m) => {
    const v = channels(hex).map(linear);
    return [0, 3, 6].map((i) => Math.min(1, Math.max(0, m[i] * v[0] + m[i + 1] * v[1] + m[i + 2] * v[2])));
};
const luminance = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
};

/* Perceived distance of two colours, in CIE Lab; 100 is black to white. */
const lab = ([r, g, b]) => {
    const f = (t) => (t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116);
    const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
    const y = f(luminance([r, g, b]));
    const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
};
const apart = (a, b) => Math.hypot(...lab(a).map((v, i) => v - lab(b)[i]));

/** Colours in the custom properties of the style sheet, with both values. */
async function tokens() {
    const all = {};
    for (const [, name, light, dark] of (await read("web/style.css")).matchAll(/--([\w-]+): light-dark\(#(\w{6}), #(\w{6})\)/g)) all[name] = { light, dark };
    return all;
}

const READ = ["ink", "dim", "accent", "free", "held", "busy", "stale", "hung", "lost", "wrong", ...Array.from({ length: 8 }, (_, i) => `line${i}`)];
const GROUNDS = { bg: READ, raised: READ.filter((n) => !n.startsWith("line")), "warn-bg": ["ink"], "bad-bg": ["ink", "wrong"] };

test("what is read has a contrast of 4.5 on every ground, in both themes and for every sight", async () => {
    const all = await tokens();
    const poor = [];
    for (const theme of ["light", "dark"])
        for (const [sight, m] of Object.entries(SIGHT))
            for (const [ground, names] of Object.entries(GROUNDS))
                for (const name of names) {
                    const c = contrast(seen(all[name][theme], m), seen(all[ground][theme], m));
                    if (c < 4.5) poor.push(`${name} on ${ground}, ${theme}, ${sight}: ${c.toFixed(2)}`);
                }
    assert.deepEqual(poor, []);
    for (const theme of ["light", "dark"]) for (const name of ["accent", "wrong"]) assert.ok(contrast(seen(all.bg[theme], SIGHT["all colours"]), seen(all[name][theme], SIGHT["all colours"])) >= 4.5); /* the text of buttons and of the badge */
});

test("states that mean different things stay apart, also for those who lack a kind of cones", async () => {
    const all = await tokens();
    const states = ["free", "held", "busy", "hung", "wrong"];
    const near = [];
    for (const theme of ["light", "dark"])
        for (const sight of ["all colours", "protanopia", "deuteranopia", "tritanopia"])
            states.forEach((a, i) => states.slice(i + 1).forEach((b) => {
                const d = apart(seen(all[a][theme], SIGHT[sight]), seen(all[b][theme], SIGHT[sight]));
                if (d < 12) near.push(`${a} and ${b}, ${theme}, ${sight}: ${d.toFixed(1)}`);
            }));
    assert.deepEqual(near, []);
});

test("red is for what is wrong: no state and no line of a chart is red", async () => {
    const all = await tokens();
    const hue = (hex) => {
        const [r, g, b] = channels(hex);
        return (Math.atan2(Math.sqrt(3) * (g - b), 2 * r - g - b) * 180) / Math.PI;
    };
    const red = Object.keys(all).filter((name) => name !== "bad-bg" && Object.values(all[name]).some((hex) => Math.abs(hue(hex)) < 15 && Math.max(...channels(hex)) - Math.min(...channels(hex)) > 0.25));
    assert.deepEqual(red, ["wrong"]);
});

test("the terminal's states and drawn charts have the page's colours", async () => {
    const all = await tokens();
    const screen = await read("src/tui/screen.c");
    for (const name of ["free", "held", "busy", "stale", "hung", "lost"]) {
        const [, dark, light] = screen.match(new RegExp(`\\[DEV_${name.toUpperCase()}\\] = \\{[^}]*0x(\\w{6}), 0x(\\w{6})\\}`));
        assert.deepEqual({ light, dark }, all[name], name);
    }
    const drawn = (await read("src/draw/plot.c")).match(/colours\[PLOT_COLOURS\] = \{([^}]*)\}/)[1].match(/\w{6}(?=[,\s]|$)/g);
    assert.deepEqual(drawn, READ.filter((n) => n.startsWith("line")).map((n) => all[n].light));
});
