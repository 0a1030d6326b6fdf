/* paper.js: Now as it is printed: a plain table of every GPU, whatever the window shows of them. Loaded after the first paint. */
import { facts, stateName } from "../kit/facts.js";
import { exactTime, metric, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, live } from "../kit/live.js";
import { devicesOf, indexOf, isFresh, modelName, nodeName, tally, usersOf } from "../kit/model.js";
import { Answer, Counts } from "./answer.js";
import { say } from "./words.en.js";

export function Paper() {
    const sum = tally(live.nodes, hubNow());
    return html`<p class="dim">${facts.name}, ${exactTime(hubNow())}</p>
        <${Answer} nodes=${live.nodes} sum=${sum} /><${Counts} nodes=${live.nodes} sum=${sum} />
        ${live.filter && html`<p>${say.only(live.filter)}</p>`}
        <table>
            <thead><tr><th>${say.node}</th><th>GPU</th><th>${say.model}</th><th>${say.state}</th><th>${say.users}</th><th class="num">${say.use}</th><th class="num">${say.memory}</th><th class="num">${say.ofTotal}</th></tr></thead>
            <tbody>
                ${live.nodes.map((n) =>
                    devicesOf(n).map((d) => {
                        const m = isFresh(d) ? d.metrics : {};
                        return html`<tr>
                            <td>${nodeName(n)}</td><td>${indexOf(d)}</td><td>${modelName(d)}</td><td>${stateName(d.state)}${d.service && `; ${say.needsService(d.service)}`}</td>
                            <td>${usersOf(d).map((u) => u.user).join(", ") || UNKNOWN}</td>
                            <td class="num">${metric("util", m.util)}</td><td class="num">${metric("mem_used", m.mem_used)}</td><td class="num">${metric("mem_total", d.metrics.mem_total)}</td>
                        </tr>`;
                    }),
                )}
            </tbody>
        </table>`;
}
