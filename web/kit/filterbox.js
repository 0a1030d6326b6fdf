/* filterbox.js: the box for a filter. The hub reads it while one types, and where it has an error the box marks it; what can be typed next is offered, and a filter can be kept. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { flipSaved, saved } from "./filters.js";
import { html } from "./html.js";
import { whenLoaded } from "./later.js";
import { setQuery, usePlace } from "./router.js";
import { useLive } from "./use.js";
import { say } from "./words.en.js";

const PAUSE_MS = 250;

/** The text again, with the letter at the column marked. @param {{ text: string, column: number }} props */
function Marked({ text, column }) {
    const letters = [...text];
    return html`<code class="marked"
        >${letters.slice(0, column - 1).join("")}<mark>${letters[column - 1] ?? " "}</mark>${letters.slice(column).join("")}</code
    >`;
}

/** @typedef {import("./complete.js").Offer} Offer */

/** What can be typed next. @param {{ offers: Offer[], at: number, take: (o: Offer) => void }} props */
function Offers({ offers, at, take }) {
    return html`<ul class="offers" id="filter-offers" role="listbox" aria-label=${say.typeable}>
        ${offers.map((o, i) => html`<li role="option" id=${`offer-${i}`} key=${o.text} aria-selected=${i === at} onPointerDown=${(/** @type {Event} */ e) => {
            e.preventDefault(); /* the box keeps the focus */
            take(o);
        }}><span class="goal">${o.text}</span> <span class="dim">${o.what}</span></li>`)}
    </ul>`;
}

/** Keeps the filter, or forgets it. @param {{ text: string }} props */
function Star({ text }) {
    const [, again] = useState({});
    const kept = saved().includes(text.trim());
    const words = kept ? say.forgetFilter : say.keepFilterHint;
    return html`<button type="button" class="icon" title=${words} aria-label=${say.keepFilter} aria-pressed=${kept} disabled=${!text.trim()} onClick=${() => {
        flipSaved(text);
        again({});
    }}>${kept ? "★" : "☆"}</button>`;
}

/** The completion, which is loaded when the box is first used. */
function useCompletion() {
    const [it, setIt] = useState(/** @type {typeof import("./complete.js") | null} */ (null));
    const load = () => {
        if (!it) whenLoaded(import("./complete.js"), (m) => m.known.then(() => setIt(() => m)));
    };
    return { it, load };
}

export function FilterBox() {
    const { query } = usePlace();
    const inUrl = query.get("filter") ?? "";
    const [text, setText] = useState(inUrl);
    const [open, setOpen] = useState(false);
    const [at, setAt] = useState(-1);
    const { it, load } = useCompletion();
    const box = useRef(/** @type {HTMLInputElement | null} */ (null));
    const timer = useRef(0);
    const mine = useRef(inUrl);
    const { filterProblem: bad, nodes } = useLive();

    useEffect(() => {
        if (inUrl === mine.current) return;
        mine.current = inUrl;
        setText(inUrl);
    }, [inUrl]);

    /** @param {string} value @param {number} after */
    function want(value, after) {
        setText(value);
        setAt(-1);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => {
            mine.current = value;
            setQuery({ filter: value });
        }, after);
    }

    const caret = box.current?.selectionStart ?? text.length;
    const offers = useMemo(() => (open && it ? it.offers(text, caret) : []), [open, it, text, caret, !nodes.length]); /* what one is about to choose does not move at each news */

    /** @param {Offer} o */
    function take(o) {
        const start = it && !o.whole ? it.wordStart(text.slice(0, caret)) : 0;
        const done = o.whole || !/[:>]$/.test(o.text);
        const before = text.slice(0, start) + o.text + (done && !o.whole ? " " : "");
        want(o.whole ? o.text : before + text.slice(caret).trimStart(), done ? 0 : PAUSE_MS);
        setOpen(!done);
        setTimeout(() => box.current?.setSelectionRange(before.length, before.length)); /* once the text is there */
    }

    /** @param {KeyboardEvent & { currentTarget: HTMLInputElement }} e */
    function onKey(e) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
        if (step && !open) setOpen(true);
        else if (step && offers.length) setAt(at + step < -1 ? offers.length - 1 : at + step >= offers.length ? -1 : at + step);
        else if (e.key === "Enter" && offers[at]) take(offers[at]);
        else if (e.key === "Enter") {
            want(text, 0);
            setOpen(false);
        } else if (e.key === "Escape" && offers.length) {
            setAt(-1);
            setOpen(false);
        } else if (e.key === "Escape" && text) want("", 0);
        else if (e.key === "Escape") e.currentTarget.blur();
        else return;
        e.preventDefault();
    }

    const shown = bad && bad.filter === text && !offers.length ? bad : null; /* a word that goes on is no error yet */
    return html`<div class="filter" role="search">
        <div class="filter-line">
            <input type="search" id="filter" ref=${box} role="combobox" placeholder=${say.filterHint} aria-label=${say.filterGpus} aria-invalid=${!!shown}
                aria-describedby=${shown ? "filter-error" : null} aria-expanded=${offers.length > 0} aria-controls="filter-offers" aria-autocomplete="list" aria-activedescendant=${offers[at] ? `offer-${at}` : null}
                autocomplete="off" autocapitalize="off" spellcheck=${false} value=${text}
                onInput=${(/** @type {any} */ e) => {
                    setOpen(true);
                    want(e.currentTarget.value, PAUSE_MS);
                }} onFocus=${() => {
                    load();
                    setOpen(true);
                }} onBlur=${() => setOpen(false)} onKeyDown=${onKey} />
            <${Star} text=${text} />
            ${offers.length > 0 && html`<${Offers} offers=${offers} at=${at} take=${take} />`}
        </div>
        ${shown && html`<p class="error" id="filter-error" role="alert">
            ${shown.column && html`<${Marked} text=${text} column=${shown.column} />`} ${shown.detail.replace(/^filter, column \d+: /, "")}
        </p>`}
    </div>`;
}
