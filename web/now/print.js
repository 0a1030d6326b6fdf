/* print.js: what is printed: the view one looks at, on light paper; of Now a plain table of every GPU, whatever the window shows of them. */
import { render } from "preact";
import { facts } from "../kit/facts.js";
import { exactTime, metric, UNKNOWN } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, live } from "../kit/live.js";
import { devicesOf, indexOf, isFresh, modelName, nodeName, tally, usersOf } from "../kit/model.js";
import { applyTheme } from "../kit/prefs.js";
import { Answer, Counts } from "./answer.js";

function Table() {
    const sum = tally(live.nodes, hubNow());
    return html`<p class="dim">${facts.name}, ${exactTime(hubNow())}</p>
        <${Answer} nodes=${live.nodes} sum=${sum} /><${Counts} nodes=${live.nodes} sum=${sum} />
        ${live.filter && html`<p>only ${live.filter}</p>`}
        <table>
            <thead><tr><th>node</th><th>GPU</th><th>model</th><th>state</th><th>users</th><th class="num">use</th><th class="num">memory</th><th class="num">of</th></tr></thead>
            <tbody>
                ${live.nodes.map((n) =>
                    devicesOf(n).map((d) => {
                        const m = isFresh(d) ? d.metrics : {};
                        return html`<tr>
                            <td>${nodeName(n)}</td><td>${indexOf(d)}</td><td>${modelName(d)}</td><td>${d.state}</td>
                            <td>${usersOf(d).map((u) => u.user).join(", ") || UNKNOWN}</td>
                            <td class="num">${metric("util", m.util)}</td><td class="num">${metric("mem_used", m.mem_used)}</td><td class="num">${metric("mem_total", d.metrics.mem_total)}</td>
                        </tr>`;
                    }),
                )}
            </tbody>
        </table>`;
}

/** @param {() => boolean} isNow whether that view is shown */
export function startPrint(isNow) {
    const paper = /** @type {HTMLElement} */ (document.getElementById("print"));
    addEventListener("beforeprint", () => {
        document.documentElement.dataset.theme = "light"; /* charts are drawn again in its colours */
        render(isNow() ? html`<${Table} />` : null, paper);
    });
    addEventListener("afterprint", () => {
        applyTheme();
        render(null, paper);
    });
}
