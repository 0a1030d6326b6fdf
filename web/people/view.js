/* view.js: the view /people: who holds what now: how many GPUs, how much memory, since when, and what of it is idle. */
import { useEffect } from "preact/hooks";
import { Empty, NoMatch, Refused } from "../kit/empty.js";
import { stateName, stateOf } from "../kit/facts.js";
import { FilterBox } from "../kit/filterbox.js";
import { bytes, exactTime, span, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, watch } from "../kit/live.js";
import { devicesOf, indexOf, isFresh, nodeName, tally, usersOf } from "../kit/model.js";
import { Person } from "../kit/person.js";
import { usePlace } from "../kit/router.js";
import { useLive, useTick } from "../kit/use.js";
import { Advise } from "./advise.js";
import { Idle, WhoToAsk } from "./asking.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Node} Node */
/** @typedef {import("../kit/types").Device} Device */

/**
 * @typedef {{ name: string, gpus: number, idle: number, mem: number, since: number | undefined,
 *   places: { node: Node, devices: { d: Device, index: string }[] }[] }} Holder
 */

/** Who is on which devices: most GPUs first; "" is whoever could not be found out. @param {Node[]} nodes @returns {Holder[]} */
function peopleOf(nodes) {
    /** @type {Map<string, Holder>} */
    const people = new Map();
    for (const node of nodes)
        for (const d of devicesOf(node)) {
            if (!isFresh(d)) continue;
            for (const u of usersOf(d)) {
                if (u.nobody) continue;
                const name = u.user === "?" ? "" : u.user;
                const p = people.get(name) ?? { name, gpus: 0, idle: 0, mem: 0, since: undefined, places: [] };
                people.set(name, p);
                if (p.places.at(-1)?.node !== node) p.places.push({ node, devices: [] });
                p.places.at(-1)?.devices.push({ d, index: indexOf(d) });
                p.gpus++;
                p.mem += u.mem;
                if (d.state === "held") p.idle++;
                if (Number.isFinite(u.start)) p.since = Math.min(p.since ?? Infinity, u.start);
            }
        }
    return [...people.values()].sort((a, b) => b.gpus - a.gpus || (a.name < b.name ? -1 : 1));
}

/** One node's GPUs of a person, each a mark. @param {{ place: Holder["places"][number] }} props */
function Place({ place: { node, devices } }) {
    return html`<span class="held-at">
        <a href="/node/${encodeURIComponent(node.name)}">${nodeName(node)}</a>
        ${devices.map(({ d, index }) => html`<a class="dot ${d.state}" href="/gpu/${encodeURIComponent(d.uuid)}" title="${node.name} GPU ${index}: ${stateName(d.state)}"
            aria-label="${node.name} GPU ${index}, ${stateName(d.state)}"><span class="mark">${stateOf.get(d.state)?.mark}</span></a>`)}
    </span>`;
}

/** @param {{ p: Holder, now: number }} props */
function Row({ p, now }) {
    return html`<tr>
        <th scope="row">${p.name ? html`<${Person} name=${p.name} />` : html`<span class="dim" title=${say.unknownMeans}>${say.unknown}</span>`}</th>
        <td class="num">${p.gpus}</td>
        <td class="num">${p.idle ? html`<span class="held"><span class="mark">${stateOf.get("held")?.mark}</span> ${p.idle}</span>` : ""}</td>
        <td class="num">${p.mem ? bytes(p.mem) : UNKNOWN}</td>
        <td class="num" title=${p.since ? exactTime(p.since) : ""}>${p.since ? span(now - p.since) : UNKNOWN}</td>
        <td class="places">${p.places.map((at) => html`<${Place} place=${at} />`)}</td>
    </tr>`;
}

export default function People() {
    const { query } = usePlace();
    const { nodes, status, problem, filter } = useLive();
    useTick();
    useEffect(() => watch({ filter: query.get("filter") ?? "", at: query.get("at") ?? "" }), [query]);
    const people = peopleOf(nodes);
    const known = people.filter((p) => p.name).length;
    const ready = status === "live" || status === "past";
    return html`<div class="people ${status}">
        <div class="lead">
            <h1>${people.length ? say.peopleHold(known, people.reduce((n, p) => n + p.gpus, 0)) : say.nobodyHolds}</h1>
            <${FilterBox} />
        </div>
        ${people.length > 0 && html`<div class="scroll"><table class="list">
            <thead><tr><th scope="col">${say.person}</th><th scope="col" class="num">${say.gpus}</th><th scope="col" class="num">${say.idle}</th><th scope="col" class="num">${say.memory}</th>
                <th scope="col" class="num">${say.howLong}</th><th scope="col">${say.where}</th></tr></thead>
            <tbody>${people.map((p) => html`<${Row} key=${p.name} p=${p} now=${hubNow()} />`)}</tbody>
        </table></div>`}
        ${!people.length && ready && (nodes.length || !filter ? html`<${Empty} title=${say.nobodyNow}><p><a href="/">${say.whichFree}</a></p><//>` : html`<${NoMatch} />`)}
        ${!nodes.length && status === "lost" && problem && html`<${Refused} />`}
    </div>
    ${status === "live" && nodes.length > 0 && html`<${Advise} /><div class="beside"><${Idle} /><${WhoToAsk} free=${tally(nodes, hubNow()).by.free ?? 0} /></div>`}`;
}
