/* view_events.js: the view /events: what happened in the whole cluster, newest first: how far back, of which kind, and what one looks for. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../kit/api.js";
import { Choice, chosen } from "../kit/choice.js";
import { Empty } from "../kit/empty.js";
import { count } from "../kit/format.js";
import { html } from "../kit/html.js";
import { watch } from "../kit/live.js";
import { setQuery, usePlace } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { whileSeen } from "../kit/use.js";
import { BOOKINGS, Events, isTrouble, TROUBLE } from "./events.js";
import { RANGES, stretch } from "./history.js";
import { Range } from "./range.js";

/** @typedef {import("../kit/types").EventRecord} EventRecord */
/** @typedef {import("../kit/types").Problem} Problem */

await sheet("later.css");

const AGAIN_MS = 10000;
const PAUSE_MS = 250;
const MOST = 500;
const USUAL = "1w";

/** In the URL, in words, and which kinds that is. @type {[string, string, string[]][]} */
const KINDS = [
    ["all", "of every kind", []],
    ["trouble", "trouble", TROUBLE],
    ["nodes", "nodes and agents", ["new", "down", "back", "start", "stop", "hung", "answers", "clock"]],
    ["bookings", "bookings", BOOKINGS],
];
/** @type {[string, string][]} */
const OPTIONS = KINDS.map(([value, words]) => [value, words]);

/** What the buttons say, in a sentence. @type {Record<string, string>} */
const WORDS = { "1h": "in the last hour", "6h": "in the last 6 hours", "1d": "in the last day", "1w": "in the last week", "1m": "in the last month", "1y": "in the last year" };

/** The answer to what the URL asks, again and again; old: of what was asked before. @param {URLSearchParams} query @param {string[]} kinds */
function useEvents(query, kinds) {
    const [got, setGot] = useState(/** @type {{ asked: string, events: EventRecord[] } | null} */ (null));
    const [wrong, setWrong] = useState(/** @type {Problem | null} */ (null));
    const { live } = stretch(query, USUAL);
    const asked = `${query} ${kinds}`;
    useEffect(() => {
        const stop = new AbortController();
        const look = () => {
            const { from, to } = stretch(query, USUAL);
            const q = new URLSearchParams({ limit: `${MOST}`, from: `${Math.floor(from)}` });
            if (!live) q.set("to", `${Math.ceil(to)}`);
            if (kinds.length) q.set("kind", kinds.join());
            for (const name of ["find", "filter"]) if (query.get(name)) q.set(name, query.get(name) ?? "");
            ask(`/api/v1/events?${q}`, { signal: stop.signal }).then((events) => (setGot({ asked, events }), setWrong(null)), (e) => e.name !== "AbortError" && setWrong(e));
        };
        look();
        const rest = live ? whileSeen(look, AGAIN_MS) : undefined;
        return () => {
            rest?.();
            stop.abort();
        };
    }, [asked]);
    return { events: got?.events, wrong, old: got?.asked !== asked };
}

/** What one looks for, in the URL a moment after it was typed. @param {{ value: string }} props */
function Find({ value }) {
    const [text, setText] = useState(value);
    const timer = useRef(0);
    useEffect(() => setText(value), [value]);
    const onInput = (/** @type {any} */ e) => {
        const v = e.currentTarget.value;
        setText(v);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => setQuery({ find: v }), PAUSE_MS);
    };
    return html`<label class="choice">find <input type="search" name="find" placeholder="dgx5, Xid, driver …" autocomplete="off" spellcheck=${false} maxlength="90" value=${text} onInput=${onInput} /></label>`;
}

export default function EventsView() {
    const { query } = usePlace();
    useEffect(() => watch({}), []);
    const kind = chosen("kind", OPTIONS, "all");
    const kinds = KINDS.find(([value]) => value === kind)?.[2] ?? [];
    const { from, to, range } = stretch(query, USUAL);
    const { events, wrong, old } = useEvents(query, kinds);
    const when = WORDS[range] ?? "in this time";
    const bad = events?.filter(isTrouble).length ?? 0;
    const narrowed = kind !== "all" || query.get("find") || query.get("filter");
    return html`<div class="all-events">
        <div class="lead"><h1>${!events ? "what happened" : events.length ? `${events.length === MOST ? `the newest ${MOST} events` : count(events.length, "event")} ${when}` : `nothing ${narrowed ? "like this " : ""}happened ${when}`}${bad && kind !== "trouble" ? html`<span class="where">, ${bad === events?.length ? (bad === 1 ? "it is" : "all of them") : `${bad} of them`} trouble</span>` : ""}</h1></div>
        <div class="strip"><${Range} range=${range} from=${from} to=${to} />
            <span class="controls"><${Choice} name="kind" label="show" options=${OPTIONS} value=${kind} otherwise="all" /><${Find} value=${query.get("find") ?? ""} /></span></div>
        ${wrong && !events && html`<${Empty} title="Events cannot be shown"><p>${wrong.detail}</p><//>`}
        ${wrong && events && html`<p class="error" role="alert">${wrong.detail}</p>`}
        ${events && events.length > 0 && html`<div class=${old ? "stale-data" : ""}><${Events} events=${events} nodes label="What happened" /></div>`}
        ${events && !events.length && narrowed && html`<p><button type="button" onClick=${() => setQuery({ kind: undefined, find: undefined, filter: undefined })}>show all</button></p>`}
        ${events && !events.length && !narrowed && range !== RANGES[RANGES.length - 1][0] && html`<p class="dim">For more choose a longer time.</p>`}
    </div>`;
}
