/* view_events.js: the view /events: what happened in the whole cluster, newest first: how far back, of which kind, and what one looks for. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../kit/api.js";
import { Choice, chosen } from "../kit/choice.js";
import { Empty } from "../kit/empty.js";
import { COMMA } from "../kit/format.js";
import { html } from "../kit/html.js";
import { watch } from "../kit/live.js";
import { setQuery, usePlace } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { whileSeen } from "../kit/use.js";
import { BOOKINGS, Events, isTrouble, TROUBLE } from "./events.js";
import { RANGES, stretch } from "./history.js";
import { Range } from "./range.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").EventRecord} EventRecord */
/** @typedef {import("../kit/types").Problem} Problem */

await sheet("later.css");

const AGAIN_MS = 10000;
const PAUSE_MS = 250;
const MOST = 500;
const USUAL = "1w";

/** In the URL, in words, and which kinds that is. @type {[string, string, string[]][]} */
const KINDS = [
    ["all", say.everyKind, []],
    ["trouble", say.trouble, TROUBLE],
    ["nodes", say.nodesAndAgents, ["new", "down", "back", "start", "stop", "hung", "answers", "clock"]],
    ["bookings", say.bookings, BOOKINGS],
];
/** @type {[string, string][]} */
const OPTIONS = KINDS.map(([value, words]) => [value, words]);

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
    return html`<label class="choice">${say.find} <input type="search" name="find" placeholder="dgx5, Xid, driver …" autocomplete="off" spellcheck=${false} maxlength="90" value=${text} onInput=${onInput} /></label>`;
}

export default function EventsView() {
    const { query } = usePlace();
    useEffect(() => watch({}), []);
    const kind = chosen("kind", OPTIONS, "all");
    const kinds = KINDS.find(([value]) => value === kind)?.[2] ?? [];
    const { from, to, range } = stretch(query, USUAL);
    const { events, wrong, old } = useEvents(query, kinds);
    const when = say.inLast[range] ?? say.inThisTime;
    const bad = events?.filter(isTrouble).length ?? 0;
    const narrowed = kind !== "all" || query.get("find") || query.get("filter");
    return html`<div class="all-events">
        <div class="lead"><h1>${!events ? say.whatHappened : events.length ? (events.length === MOST ? say.newestEvents(MOST, when) : say.eventsWhen(events.length, when)) : narrowed ? say.nothingLikeThis(when) : say.nothingHappened(when)}${bad && kind !== "trouble" ? html`<span class="where">${COMMA}${say.ofThemTrouble(bad, events?.length)}</span>` : ""}</h1></div>
        <div class="strip"><${Range} range=${range} from=${from} to=${to} />
            <span class="controls"><${Choice} name="kind" label=${say.show} options=${OPTIONS} value=${kind} otherwise="all" /><${Find} value=${query.get("find") ?? ""} /></span></div>
        ${wrong && !events && html`<${Empty} title=${say.noEvents}><p>${wrong.detail}</p><//>`}
        ${wrong && events && html`<p class="error" role="alert">${wrong.detail}</p>`}
        ${events && events.length > 0 && html`<div class=${old ? "stale-data" : ""}><${Events} events=${events} nodes label=${say.whatHappened} /></div>`}
        ${events && !events.length && narrowed && html`<p><button type="button" onClick=${() => setQuery({ kind: undefined, find: undefined, filter: undefined })}>${say.showAll}</button></p>`}
        ${events && !events.length && !narrowed && range !== RANGES[RANGES.length - 1][0] && html`<p class="dim">${say.chooseLonger}</p>`}
    </div>`;
}
