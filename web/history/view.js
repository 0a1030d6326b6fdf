/* view.js: the view /history: the night strip of the cluster: what every GPU did and whose it was, a day, a week or another time; and as a picture. */
import { useEffect } from "preact/hooks";
import { Choice, chosen } from "../kit/choice.js";
import { Empty, NoMatch, NoNodes, Refused } from "../kit/empty.js";
import { FilterBox } from "../kit/filterbox.js";
import { COMMA, moment } from "../kit/format.js";
import { html } from "../kit/html.js";
import { watch } from "../kit/live.js";
import { theme } from "../kit/prefs.js";
import { href, usePlace } from "../kit/router.js";
import { useLive, useTick } from "../kit/use.js";
import { stretch } from "./history.js";
import { Range } from "./range.js";
import { Strip, useStrip } from "./strip.js";
import { say } from "./words.en.js";

/** @type {[string, string][]} */
const SORTS = [["node", say.node], ["work", say.mostWork], ["idle", say.longestIdle]];
const USUAL = "1d";

/** The page is dark, as told or as the system is. */
const isDark = () => (theme() || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "")) === "dark";

/** The same as files, on the ground the page has; PDF is for paper. @param {{ words: Record<string, string | undefined> }} props */
export function Pictures({ words }) {
    return html`<span class="exports">${say.picture} ${["png", "svg", "pdf"].map((format) => html`<a data-load download href=${href("/api/v1/strip", { ...words, format, theme: isDark() && format !== "pdf" ? "dark" : undefined })}>${format.toUpperCase()}</a>`)}</span>`;
}

export default function History() {
    const { query } = usePlace();
    const { nodes, status, problem, filter } = useLive();
    useTick();
    const wanted = query.get("filter") ?? "";
    useEffect(() => watch({ filter: wanted }), [wanted]);
    const sort = chosen("sort", SORTS, "node");
    const shown = stretch(query, USUAL);
    const words = { filter: filter || undefined, sort: sort === "node" ? undefined : sort };
    const { strip, stale, wrong } = useStrip(words, shown);
    const times = { from: `${Math.floor(shown.from)}`, to: `${Math.ceil(shown.to)}` };
    return html`<div class="history ${status}">
        <div class="lead">
            <h1>${say.whatEach} <span class="dim">${strip ? `${say.gpus(strip.rows.length)}${COMMA}${moment(strip.from, strip.now)} – ${shown.live ? say.now : moment(strip.to, strip.now)}` : ""}</span></h1>
            <${FilterBox} />
        </div>
        <div class="strip">
            <${Range} range=${shown.range} from=${shown.from} to=${shown.to} />
            <div class="controls"><${Choice} name="sort" label=${say.sort} options=${SORTS} value=${sort} otherwise="node" /><${Pictures} words=${{ ...words, ...times }} /></div>
        </div>
        ${wrong && status !== "lost" && html`<p class="error" role="alert">${wrong.detail}</p>`}
        ${strip && strip.rows.length > 0 && html`<div class=${stale ? "stale-data" : ""}><${Strip} strip=${strip} live=${shown.live} byNode=${sort === "node"} /></div>`}
        ${strip && !strip.rows.length && (filter ? html`<${NoMatch} />` : nodes.length ? html`<${Empty} title=${say.noGpuYet}><p>${say.nodesUnder(html`<a href="/">${say.nowView}</a>`)}</p><//>` : html`<${NoNodes} />`)}
        ${!strip && !wrong && html`<p class="dim">${say.reading}</p>`}
        ${!nodes.length && status === "lost" && problem && html`<${Refused} />`}
        ${strip && strip.rows.length > 0 && strip.rows.every((r) => r.work.every((v) => v === null)) && html`<${Empty} title=${say.nothingStored}><p>${say.maybeOlder}</p><//>`}
    </div>`;
}
