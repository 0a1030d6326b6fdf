/* asking.js: who to ask for a GPU: what each person holds, has booked and held lately; and the GPUs that are held without work. */
import { useEffect, useState } from "preact/hooks";
import { ask } from "../kit/api.js";
import { Choice, chosen } from "../kit/choice.js";
import { stateOf } from "../kit/facts.js";
import { bytes, exactTime, inUnit, moment, number, span, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow } from "../kit/live.js";
import { Person } from "../kit/person.js";
import { usePlace } from "../kit/router.js";
import { sheet } from "../kit/sheet.js";
import { whileSeen } from "../kit/use.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").IdleRow} IdleRow */
/** @typedef {import("../kit/types").Asked} Asked */
/** @typedef {import("../kit/types").Problem} Problem */

await sheet("later.css");

const AGAIN_MS = 30000;
/** @type {["2h" | "24h" | "1w", string][]} */
const OVER = [["2h", inUnit(2, 1)], ["24h", inUnit(24, 1)], ["1w", say.oneWeek]];
/** @type {[string, string][]} */
const LONGER = [["30m", inUnit(30, 2)], ["2h", inUnit(2, 1)], ["8h", inUnit(8, 1)], ["1d", inUnit(1, 0)]];
/** How much that is: up to, in words, marks. @type {[number, string, string][]} */
const LEVELS = [[0.95, say.little, ""], [2.01, say.some, "▮"], [5.01, say.many, "▮▮"], [Infinity, say.most, "▮▮▮"]];

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
    return html`<td class="num level l${at}" title=${LEVELS[at][1]}><span aria-hidden="true">${LEVELS[at][2]}</span> ${number(v, 1)}</td>`;
}

/** As the page that had this table first ordered it. @param {Asked} p */
const weight = (p) => (p.booked ?? 0) + 1.5 * (p.used ?? 0) + 0.15 * (p.ema?.["2h"] ?? 0);

/** @param {{ free: number }} props */
export function WhoToAsk({ free }) {
    const { got, wrong } = useAnswer("/api/v1/people?recent=true");
    if (wrong) return html`<p class="error" role="alert">${wrong.detail}</p>`;
    const rows = /** @type {Asked[]} */ (got ?? []).filter((p) => p.person && (p.gpus || p.booked || OVER.some(([k]) => (p.ema?.[k] ?? 0) >= 0.05))).sort((a, b) => weight(b) - weight(a));
    if (!rows.length) return null;
    const shorter = rows[0].records_from;
    return html`<section class="asking" aria-label=${say.whoToAsk}>
        <h2>${say.whoToAsk}</h2>
        <p class="dim">${free ? html`<span class="free"><span class="mark">${stateOf.get("free")?.mark}</span></span> ${say.areFree(free)}` : say.noneFree} ${say.askMeans}${shorter ? ` ${say.recordsSince(moment(shorter, hubNow()))}` : ""}</p>
        <div class="scroll" tabindex="0" role="region" aria-label=${say.peopleGpus}><table class="asked">
            <thead><tr><th scope="col">${say.person}</th><th scope="col" class="num">${say.bookedHead}</th><th scope="col" class="num">${say.heldNow}</th>${OVER.map(([, words]) => html`<th scope="col" class="num">${words}</th>`)}</tr></thead>
            <tbody>${rows.map((p) => html`<tr key=${p.person}>
                <th scope="row"><${Person} name=${p.person} /></th><td class="num">${p.booked || ""}</td><${Level} v=${p.used} />${OVER.map(([k]) => html`<${Level} v=${p.ema?.[k]} />`)}
            </tr>`)}</tbody>
        </table></div>
        <p class="dim">${LEVELS.slice(1).map(([, words, marks], i) => `${marks} ${words}: ${i === LEVELS.length - 2 ? say.moreThanThat : say.upTo([2, 5][i])}`).join(" · ")}</p>
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
    return html`<section class="asking" role="region" aria-label=${say.idleGpus}>
        <h2>${say.idleGpus}</h2>
        <div class="controls"><${Choice} name="longer" label=${say.longerThan} options=${LONGER} value=${longer} otherwise="30m" />
            <span class="dim">${rows.length ? say.gpusWorth(rows.length, priced ? `${number(worth, 2)} ${currency}` : "") : say.none}</span></div>
        ${rows.length > 0 && html`<div class="scroll"><table class="asked">
            <thead><tr><th scope="col">GPU</th><th scope="col">${say.heldBy}</th><th scope="col" class="num">${say.idleFor}</th><th scope="col" class="num">${say.memory}</th><th scope="col">${say.program}</th>${priced && html`<th scope="col" class="num">${say.worth(currency)}</th>`}</tr></thead>
            <tbody>${rows.map((r) => html`<tr key=${`${r.device} ${r.login}`}>
                <th scope="row"><a href="/gpu/${encodeURIComponent(r.device)}">${r.node}:${r.index ?? "?"}</a></th>
                <td>${r.person ? html`<${Person} name=${r.person} />` : r.login || html`<span class="dim">${say.nobodyKnown}</span>`}</td>
                <td class="num" title=${say.since(exactTime(r.since))}>${span(r.idle * 1000)}</td>
                <td class="num">${r.memory === null || r.memory === undefined ? UNKNOWN : bytes(r.memory)}</td>
                <td class="program">${r.program ?? UNKNOWN}</td>
                ${priced && html`<td class="num">${r.cost === null || r.cost === undefined ? UNKNOWN : number(r.cost, 2)}</td>`}
            </tr>`)}</tbody>
        </table></div>`}
    </section>`;
}
