/* view.js: the view /: which GPU can I use now. The answer in words, the counts, then every node with its GPUs. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Choice, chosen } from "../kit/choice.js";
import { NoMatch, NoNodes, Refused } from "../kit/empty.js";
import { FilterBox } from "../kit/filterbox.js";
import { html } from "../kit/html.js";
import { later } from "../kit/later.js";
import { Lines } from "../kit/lines.js";
import { hubNow, watch } from "../kit/live.js";
import { tally } from "../kit/model.js";
import { usePlace } from "../kit/router.js";
import { useLive } from "../kit/use.js";
import { Answer, Counts } from "./answer.js";
import { Details } from "./details.js";
import { headWidth, layOut, LAYOUTS, NARROW } from "./layout.js";
import { groupsOf, inOrder, SORTS } from "./order.js";
import { say } from "./words.en.js";

const Table = later(() => import("./table.js"), "Table");
const Grid = later(() => import("./grid.js"), "Grid");
const Travel = later(() => import("../history/travel.js"), "Travel");

const MANY = 60; /* nodes: from here on a screen is filled by marks unless told otherwise, */
const VERY_MANY = 300; /* from here on by a heat grid */

/** How wide the list is. @param {{ current: HTMLElement | null }} box */
function useWidth(box) {
    const [width, setWidth] = useState(0);
    useLayoutEffect(() => {
        if (!box.current) return undefined;
        const look = new ResizeObserver(([e]) => setWidth(Math.floor(e.contentRect.width)));
        setWidth(Math.floor(box.current.clientWidth));
        look.observe(box.current);
        return () => look.disconnect();
    }, []);
    return width;
}

/** Before the first answer nothing is said: what is not known yet is not none. */
export default function Now() {
    const { status, nodes } = useLive();
    const { query } = usePlace();
    useEffect(() => watch({ filter: query.get("filter") ?? "", at: query.get("at") ?? "" }), [query]);
    return status === "connecting" && !nodes.length ? null : html`<${Cluster} />`;
}

function Cluster() {
    const { path } = usePlace();
    const { nodes, generation, status, problem, filter } = useLive();
    const box = useRef(/** @type {HTMLElement | null} */ (null));
    const width = useWidth(box);
    const [resort, setResort] = useState(0);
    const usual = path === "/index.php" ? "table" : nodes.length > VERY_MANY ? "grid" : nodes.length > MANY ? "tiles" : "rows"; /* GPU Monitor's page was one */
    const layout = chosen("layout", LAYOUTS, usual, true);
    const sort = chosen("sort", SORTS, "name");
    const groups = useMemo(() => groupsOf(nodes, layout === "grid"), [generation, layout]);
    const group = chosen("group", groups, "none");

    /* Rows keep their place while live: their order is made when it is asked for and when nodes come or go. */
    const order = useMemo(() => inOrder(nodes, sort, group), [sort, group, generation, resort]);
    const sum = tally(nodes, hubNow());
    const now = new Map(nodes.map((n) => [n.id, n]));
    const head = layout === "rows" ? headWidth(nodes, width) : 0;
    const travel = useMemo(() => html`<${Travel} />`, []); /* what it shows is not news */
    const lines = layout === "table" || layout === "grid" ? [] : layOut(order, now, layout, width, head);

    return html`<div class="now ${status}">
        <div class="lead"><${Answer} nodes=${nodes} sum=${sum} /><${FilterBox} /></div>
        ${(nodes.length > 0 || filter) && html`<div class="strip" key="strip">
            <${Counts} nodes=${nodes} sum=${sum} bars=${layout === "rows" || layout === "cards"} />
            <div class="controls">
                ${sort !== "name" && html`<button type="button" title=${say.keepPlace} onClick=${() => setResort(resort + 1)}>${say.sortAgain}</button>`}
                <${Choice} name="group" label=${say.group} options=${groups} value=${group} otherwise="none" />
                <${Choice} name="sort" label=${say.sort} options=${SORTS} value=${sort} otherwise="name" />
                <${Choice} name="layout" label=${say.as} options=${LAYOUTS} value=${layout} remember />
            </div>
        </div>`}
        <div class="list ${layout}" key="list" ref=${box} style=${{ "--head": `${head}px` }}>
            ${layout === "table" ? html`<${Table} groups=${order} now=${now} narrow=${width < NARROW} />` : layout === "grid" ? html`<${Grid} groups=${order} now=${now} width=${width} />` : html`<${Lines} lines=${lines} draw=${(/** @type {any} */ l) => l.what()} exact=${layout !== "cards"} items=${layout === "rows" ? nodes.length : 0} />`}
            ${!nodes.length && (status === "live" || status === "past") && (filter ? html`<${NoMatch} />` : html`<${NoNodes} />`)}
            ${!nodes.length && status === "lost" && problem && html`<${Refused} />`}
        </div>
        ${travel}
        <${Details} of=${box} />
    </div>`;
}
