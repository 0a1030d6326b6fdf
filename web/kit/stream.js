/* stream.js: server-sent events over fetch, which unlike EventSource says why it was refused. Reconnects by itself,
 * ever less often, and takes a line that has gone silent for a dead one. */
import { problemOf } from "./api.js";
import { say } from "./words.en.js";

/** @typedef {import("./types").Problem} Problem */
/**
 * @typedef {object} Ears
 * @property {() => void} open a line stands; its snapshot follows
 * @property {(kind: string, data: string) => void} event
 * @property {(why: Problem) => void} lost the line broke; it will be tried again
 * @property {(why: Problem) => void} refused the hub does not want this question asked; nothing more will come
 */

const SILENT_MS = 15000; /* the hub says something every 5 s */
const FIRST_MS = 500;
const MOST_MS = 15000;

/** Events out of pieces of text, wherever these were cut. @param {(kind: string, data: string) => void} event */
export function eventReader(event) {
    /** @type {string[]} */
    let parts = [];
    let last = "";

    /** @param {string} block */
    function take(block) {
        let kind = "message";
        const data = [];
        for (const line of block.split("\n")) {
            if (line.startsWith("event: ")) kind = line.slice(7);
            else if (line.startsWith("data: ")) data.push(line.slice(6));
        }
        if (data.length) event(kind, data.join("\n"));
    }

    /** @param {string} text */
    return (text) => {
        let from = 0;
        if (last === "\n" && text[0] === "\n") {
            take(parts.join(""));
            parts = [];
            from = 1;
        }
        for (let end; (end = text.indexOf("\n\n", from)) >= 0; from = end + 2) {
            parts.push(text.slice(from, end));
            take(parts.join(""));
            parts = [];
        }
        if (from < text.length) parts.push(text.slice(from));
        last = text.at(-1) ?? last;
    };
}

/** Open url and keep it open. @param {string} url @param {Ears} ears @returns {() => void} close */
export function openStream(url, ears) {
    let closed = false;
    let wait = FIRST_MS;
    let timer = 0;
    let line = new AbortController();

    function watch() {
        clearTimeout(timer);
        timer = window.setTimeout(() => line.abort(), SILENT_MS);
    }

    async function listen() {
        line = new AbortController();
        watch();
        const r = await fetch(url, { signal: line.signal, cache: "no-store", headers: { Accept: "text/event-stream" } });
        if (!r.ok || !r.body) {
            const why = await problemOf(r);
            if (r.status >= 500 || r.status === 429) throw why;
            if (!closed) ears.refused(why);
            closed = true;
            return;
        }
        if (closed) return line.abort();
        ears.open();
        const read = eventReader((kind, data) => {
            if (closed) return;
            wait = FIRST_MS;
            ears.event(kind, data);
        });
        const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
            const { value, done } = await reader.read();
            if (done) return;
            watch();
            read(value);
        }
    }

    async function keep() {
        while (!closed) {
            /** @type {Problem} */
            let why = { status: 0, detail: say.hubEnded };
            try {
                await listen();
            } catch (e) {
                why = e && typeof e === "object" && "detail" in e ? /** @type {Problem} */ (e) : { status: 0, detail: say.hubAway };
            }
            clearTimeout(timer);
            if (closed) return;
            ears.lost(why);
            const pause = wait * (0.75 + Math.random() / 2);
            wait = Math.min(wait * 2, MOST_MS);
            await new Promise((go) => {
                timer = window.setTimeout(go, pause);
                addEventListener("online", go, { once: true });
            });
        }
    }
    void keep();

    return () => {
        closed = true;
        clearTimeout(timer);
        line.abort();
    };
}
