/* asking.js: who to ask for a GPU: what each person holds, has booked and held lately; and the GPUs that are held without work. */
import { useEffect, useState } from "preact/hooks";
import { ask } from "../kit/api.js";
import { Choice, chosen } from "../kit/choice.js";
import { stateOf } from "../kit/facts.js";
import { bytes, count, exactTime, span, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { Person } from "../kit/person.js";
import { usePlace } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { whileSeen } from "../kit/use.js";

/** @typedef {import("../kit/types").IdleRow} IdleRow */
/** @typedef {import("../kit/types").Asked} Asked */
/** @typedef {import("../kit/types").Problem} Problem */

await sheet("later.css");

const AGAIN_MS = 30000;
/** @type {["2h" | "24h" | "1w", string][]} */
const OVER = [["2h", "2 h"], ["24h", "24 h"], ["1w", "1 week"]];
/** @type {[string, string][]} */
const LONGER = [["30m", "30 m"], ["2h", "2 h"], ["8h", "8 h"], ["1d", "1 d"]];
/** How much that is: up to, in words, marks. @type {[number, string, string][]} */
const LEVELS = [[0.95, "little", ""], [2.01, "some", "▮"], [5.01, "many", "▮▮"], [Infinity, "most", "▮▮▮"]];

/** An answer that is asked for again and again; null before the first. @param {string} url */
export function useAnswer(url) {
    const [got, setGot] = useState(/** @type {any} */ (null));
    const [wrong, setWrong] = useState(/** @type {Problem | null} */ (null));
    useEffect(() => {
        const stop = new AbortController();
        const look = () => ask(url, { signal: stop.signal }).then((v) => (setGot(v), setWrong(null)), (e) => e.name !== "AbortError" && setWrong(e));
        void look();
        const rest = whileSeen(look, AGAIN_MS);
        return () => {
            rest();
            stop.abort();
        };
    }, [url]);
    return { got, wrong };
}

/** A number of GPUs, coloured and marked by how many that is. @param {{ v: number | undefined }} props */
function Level({ v }) {
    if (v === undefined || v === null) return html`<td class="num">${UNKNOWN}</td>`;
    const at = LEVELS.findIndex(([most]) => v <= most);
    return html`<td class="num level l${at}" title=${LEVELS[at][1]}><span aria-hidden="true">${LEVELS[at][2]}</span> ${v.toFixed(1)}</td>`;
}

/** As the page that had this table first ordered it. @param {Asked} p */
const weight = (p) => (p.booked ?? 0) + 1.5 * (p.used ?? 0) + 0.15 * (p.ema?.["2h"] ?? 0);

/** @param {{ free: number }} props */
export function WhoToAsk({ free }) {
    const { got, wrong } = useAnswer("/api/v1/people?recent=true");
    if (wrong) return html`<p class="error" role="alert">${wrong.detail}</p>`;
    const rows = /** @type {Asked[]} */ (got ?? []).filter((p) => p.person && (p.gpus || p.booked || OVER.some(([k]) => (p.ema?.[k] ?? 0) >= 0.05))).sort((a, b) => weight(b) - weight(a));
    if (!rows.length) return null;
    return html`<section class="asking" aria-label="Who to ask for a GPU">
        <h2>who to ask for a GPU</h2>
        <p class="dim">${free ? html`<span class="free"><span class="mark">${stateOf.get("free")?.mark}</span></span> ${count(free, "GPU")} ${free === 1 ? "is" : "are"} free: nobody needs to be asked.` : "None is free just now."} GPUs held now and on average; a shared one counts by memory.</p>
        <div class="scroll" tabindex="0" role="region" aria-label="People and their GPUs"><table class="asked">
            <thead><tr><th scope="col">person</th><th scope="col" class="num">booked</th><th scope="col" class="num">held now</th>${OVER.map(([, words]) => html`<th scope="col" class="num">${words}</th>`)}</tr></thead>
            <tbody>${rows.map((p) => html`<tr key=${p.person}>
                <th scope="row"><${Person} name=${p.person} /></th><td class="num">${p.booked || ""}</td><${Level} v=${p.used} />${OVER.map(([k]) => html`<${Level} v=${p.ema?.[k]} />`)}
            </tr>`)}</tbody>
        </table></div>
        <p class="dim">${LEVELS.slice(1).map(([, words, marks], i) => `${marks} ${words}: ${i === LEVELS.length - 2 ? "more" : `up to ${[2, 5][i]}`}`).join(" · ")}</p>
    </section>`;
}

/** In which money prices are, asked once there are any. @param {boolean} priced */
function useCurrency(priced) {
    const [currency, setCurrency] = useState("");
    useEffect(() => {
        if (priced) ask("/api/v1/usage?by=model&last=1d&period=all").then((u) => setCurrency(u.currency ?? ""), () => {});
    }, [priced]);
    return currency;
}

export function Idle() {
    usePlace();
    const longer = chosen("longer", LONGER, "30m");
    const { got, wrong } = useAnswer(`/api/v1/idle?longer=${longer}`);
    const rows = /** @type {IdleRow[]} */ (got ?? []);
    const priced = rows.some((r) => r.cost !== null && r.cost !== undefined);
    const currency = useCurrency(priced);
    if (wrong) return html`<p class="error" role="alert">${wrong.detail}</p>`;
    if (!got) return null;
    const worth = rows.reduce((t, r) => t + (r.cost ?? 0), 0);
    return html`<section class="asking" role="region" aria-label="Held without work">
        <h2>held without work</h2>
        <div class="controls"><${Choice} name="longer" label="for longer than" options=${LONGER} value=${longer} otherwise="30m" />
            <span class="dim">${rows.length ? `${count(rows.length, "GPU")}${priced ? `, worth ${worth.toFixed(2)} ${currency}` : ""}` : "none"}</span></div>
        ${rows.length > 0 && html`<div class="scroll"><table class="asked">
            <thead><tr><th scope="col">GPU</th><th scope="col">held by</th><th scope="col" class="num">idle for</th><th scope="col" class="num">memory</th><th scope="col">program</th>${priced && html`<th scope="col" class="num">worth ${currency}</th>`}</tr></thead>
            <tbody>${rows.map((r) => html`<tr key=${`${r.device} ${r.login}`}>
                <th scope="row"><a href="/gpu/${encodeURIComponent(r.device)}">${r.node}:${r.index ?? "?"}</a></th>
                <td>${r.person ? html`<${Person} name=${r.person} />` : r.login || html`<span class="dim">nobody known</span>`}</td>
                <td class="num" title="since ${exactTime(r.since)}">${span(r.idle * 1000)}</td>
                <td class="num">${r.memory === null || r.memory === undefined ? UNKNOWN : bytes(r.memory)}</td>
                <td class="program">${r.program ?? UNKNOWN}</td>
                ${priced && html`<td class="num">${r.cost?.toFixed(2) ?? UNKNOWN}</td>`}
            </tr>`)}</tbody>
        </table></div>`}
    </section>`;
}
