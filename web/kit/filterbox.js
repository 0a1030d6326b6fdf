/* filterbox.js: the box for a filter. The hub reads it while one types, and where it has an error the box marks it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { setQuery, usePlace } from "./router.js";
import { useLive } from "./use.js";

const PAUSE_MS = 250;

/** The text again, with the letter at the column marked. @param {{ text: string, column: number }} props */
function Marked({ text, column }) {
    const letters = [...text];
    return html`<code class="marked"
        >${letters.slice(0, column - 1).join("")}<mark>${letters[column - 1] ?? " "}</mark>${letters.slice(column).join("")}</code
    >`;
}

export function FilterBox() {
    const { query } = usePlace();
    const inUrl = query.get("filter") ?? "";
    const [text, setText] = useState(inUrl);
    const timer = useRef(0);
    const mine = useRef(inUrl);
    const bad = useLive().filterProblem;

    useEffect(() => {
        if (inUrl === mine.current) return;
        mine.current = inUrl;
        setText(inUrl);
    }, [inUrl]);

    /** @param {string} value @param {number} after */
    function want(value, after) {
        setText(value);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => {
            mine.current = value;
            setQuery({ filter: value });
        }, after);
    }

    /** @param {KeyboardEvent & { currentTarget: HTMLInputElement }} e */
    function onKey(e) {
        if (e.key === "Enter") want(text, 0);
        else if (e.key === "Escape" && text) want("", 0);
        else if (e.key === "Escape") e.currentTarget.blur();
        else return;
        e.preventDefault();
    }

    const shown = bad && bad.filter === text ? bad : null;
    return html`<div class="filter" role="search">
        <input type="search" id="filter" placeholder="filter: free, kim, h200, mem>40G …  ( / )" aria-label="Filter GPUs" aria-invalid=${!!shown}
            aria-describedby=${shown ? "filter-error" : null} autocomplete="off" autocapitalize="off" spellcheck=${false} value=${text}
            onInput=${(/** @type {any} */ e) => want(e.currentTarget.value, PAUSE_MS)} onKeyDown=${onKey} />
        ${shown && html`<p class="error" id="filter-error" role="alert">
            ${shown.column && html`<${Marked} text=${text} column=${shown.column} />`} ${shown.detail.replace(/^filter, column \d+: /, "")}
        </p>`}
    </div>`;
}
