/* live.js: the one store of what the cluster does, fed by one stream. Loaded before anything else, so that the question
 * is on its way while the rest of the page still comes. A node that changed is a new object; one that did not is not. */
import { ask } from "./api.js";
import { openStream } from "./stream.js";
import "./prefs.js";

/** @typedef {import("./types").Node} Node */
/** @typedef {import("./types").Problem} Problem */
/** @typedef {import("./types").Snapshot} Snapshot */

const SLICE_MS = 2; /* of a frame, for reading what came */
const CROWD = 60; /* nodes: of more news is told so often that most frames are free of it: */
const PACE_MS = 100;
const HIDDEN_MS = 20000; /* a page nobody looks at lets its line go after so long */

export const live = {
    /** By name as people count: dgx2 before dgx10. @type {Node[]} */
    nodes: [],
    /** Grows when a node comes or goes. */
    generation: 0,
    /** @type {"connecting" | "live" | "lost" | "past"} */
    status: "connecting",
    /** Why it is lost, or why nothing is shown at all. @type {Problem | null} */
    problem: null,
    demo: false,
    /** What the hub has to say of itself; "" when nothing. */
    notice: "",
    /** Of prices; "": none are told. */
    currency: "",
    /** How many devices the filter chose from; absent without one. @type {number | undefined} */
    of: undefined,
    /** What nodes were chosen by. */
    filter: "",
    /** What its bare words are: "kim: person"; "" without any. */
    words: "",
    /** A filter that the hub could not read, and where. @type {(Problem & { filter: string }) | null} */
    filterProblem: null,
    /** In the past: which moment. @type {number | undefined} */
    at: undefined,
    /** When anything was last heard, by our own clock. */
    heardMs: Date.now(),
};

let skew = 0; /* hub's clock minus ours */

/** The hub's clock now; in the past, the moment shown. */
export function hubNow() {
    return live.at ?? Date.now() + skew;
}

/* ---- readers ---- */

/** @type {Set<() => void>} */
const readers = new Set();
let told = false;
let toldMs = 0;
let pause = 0;

/** Call when something changed, at most once per frame. @param {() => void} tell @returns {() => void} stop */
export function onChange(tell) {
    readers.add(tell);
    return () => readers.delete(tell);
}

function changed() {
    if (told) return;
    told = true;
    clearTimeout(pause);
    pause = 0;
    const tell = () => {
        told = false;
        toldMs = performance.now();
        for (const r of [...readers]) r();
    };
    if (document.hidden) setTimeout(tell, 100);
    else requestAnimationFrame(tell);
}

/** News of nodes, of which many come at different moments. */
function changedNodes() {
    if (live.nodes.length <= CROWD) changed();
    else if (!told) pause ||= window.setTimeout(changed, toldMs + PACE_MS - performance.now());
}

/* ---- what comes ---- */

/** @type {Map<string, Node>} */
const byId = new Map();
/** Newest text of each node that was not read yet. @type {Map<string, string>} */
const waiting = new Map();
let reading = false;
/** As people count: dgx2 before dgx10. */
export const natural = new Intl.Collator(undefined, { numeric: true });

/** Ages are as of base; keep moments instead, which do not age. @param {Node} n @param {number} base */
function settle(n, base) {
    if (n.age_ms !== undefined) n.heard = base - n.age_ms;
    for (const d of n.devices) {
        if (d.age_ms !== undefined) d.heard = base - d.age_ms;
        if (d.starting) d.state = "starting";
    }
    return n;
}

function sortNodes() {
    live.nodes = [...byId.values()].sort((a, b) => natural.compare(a.name, b.name) || (a.id < b.id ? -1 : 1));
    live.generation++;
}

/** @param {Snapshot} s */
function takeSnapshot(s) {
    byId.clear();
    waiting.clear();
    for (const n of s.nodes) byId.set(n.id, settle(n, s.at));
    live.demo = s.demo;
    live.notice = s.notice ?? "";
    live.currency = s.currency ?? "";
    live.of = s.of;
    live.filter = s.filter ?? "";
    live.words = s.words ?? "";
    sortNodes();
    changed();
}

function readSome() {
    reading = false;
    const until = performance.now() + SLICE_MS;
    let resort = false;
    let any = false;
    for (const [id, text] of waiting) {
        waiting.delete(id);
        const n = settle(/** @type {Node} */ (JSON.parse(text)), hubNow());
        resort ||= byId.get(id)?.name !== n.name;
        byId.set(id, n);
        any = true;
        if (performance.now() > until) break;
    }
    if (resort) sortNodes();
    else if (any) live.nodes = live.nodes.map((n) => byId.get(n.id) ?? n);
    if (any) changedNodes();
    readSoon();
}

function readSoon() {
    if (reading || !waiting.size) return;
    reading = true;
    if (document.hidden) setTimeout(readSome, 50);
    else requestAnimationFrame(readSome);
}

/** @param {string} kind @param {string} data */
function take(kind, data) {
    live.heardMs = Date.now();
    if (kind === "snapshot") {
        takeSnapshot(JSON.parse(data));
        Object.assign(live, { status: "live", problem: null, filterProblem: null, at: undefined });
    } else if (kind === "clock") {
        skew = JSON.parse(data).now - Date.now();
    } else if (kind === "notice") {
        live.notice = JSON.parse(data).notice;
        changed();
    } else if (kind === "node") {
        const end = data.indexOf('"', 7); /* {"id":"…": ids need no escapes */
        waiting.set(data.slice(7, end), data);
        readSoon();
    } else if (kind === "gone") {
        const { id } = JSON.parse(data);
        waiting.delete(id);
        if (byId.delete(id)) sortNodes();
        changed();
    }
}

/* ---- what is asked ---- */

let question = { filter: "", at: "" };
/** @type {() => void} */
let close = () => {};
/** @type {() => void} of a question that has no answer yet */
let closeNext = () => {};

/** @param {Partial<typeof live>} now */
function become(now) {
    Object.assign(live, now);
    changed();
}

/** @param {{ filter: string, at: string }} q */
function url(path = "", q = question) {
    const query = new URLSearchParams();
    if (q.filter.trim()) query.set("filter", q.filter);
    if (q.at) query.set("at", q.at);
    const text = query.toString();
    return path + (text ? `?${text}` : "");
}

/** The old line goes on until the new one stands: a filter with an error in it takes nothing away. */
function openLine() {
    const asked = question.filter;
    let first = true;
    closeNext();
    const mine = openStream(url("/api/v1/stream"), {
        open() {
            if (first) {
                close();
                close = mine;
                closeNext = () => {};
                first = false;
            }
        },
        event: take,
        lost(why) {
            become({ status: "lost", problem: why });
        },
        refused(why) {
            if (why.status === 400 && asked) become({ filterProblem: { ...why, filter: asked } });
            else become({ status: "lost", problem: why });
        },
    });
    closeNext = mine;
}

/** The cluster as it was. */
async function showPast() {
    const asked = question;
    closeNext();
    try {
        const s = /** @type {Snapshot} */ (await ask(url("/api/v1/state")));
        if (asked !== question) return;
        close();
        close = () => {};
        takeSnapshot(s);
        become({ status: "past", problem: null, filterProblem: null, at: s.at });
    } catch (e) {
        const why = /** @type {Problem} */ (e);
        if (asked !== question) return;
        if (why.column) become({ filterProblem: { ...why, filter: asked.filter } });
        else become({ problem: why });
    }
}

/** Show what fits the filter, live or as it was at a time (docs/history.md). @param {{ filter?: string, at?: string }} q */
export function watch({ filter = "", at = "" }) {
    if (filter === question.filter && at === question.at) return;
    question = { filter, at };
    if (at) void showPast();
    else openLine();
}

/** Ask again: after logging in or out, say. */
export function watchAgain() {
    if (question.at) void showPast();
    else openLine();
}

/* ---- a page nobody looks at ---- */

let hidden = 0;
let asleep = false;
document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden) {
        hidden = window.setTimeout(() => {
            asleep = !question.at;
            if (asleep) close();
        }, HIDDEN_MS);
    } else if (asleep) {
        asleep = false;
        openLine();
    }
});

/* The first question is in the URL; it does not wait for anything. */
const first = new URLSearchParams(location.search);
question = { filter: first.get("filter") ?? "", at: first.get("at") ?? "" };
watchAgain();
