/* advise.js: what would give back most GPU-hours this week: of everybody, of a person or of a team; at most five lines. */
import { useEffect, useState } from "preact/hooks";
import { ask } from "../kit/api.js";
import { number, percent } from "../kit/format.js";
import { html } from "../kit/html.js";
import { Person } from "../kit/person.js";
import { say } from "./words.en.js";

/** How much there was, and what of it was looked at. @param {import("../kit/types").Advised} got */
function head(got) {
    const all = got.looked === got.runs;
    const effective = got.effective_hours === null ? "" : number(got.effective_hours, 1);
    const rest = all ? "" : say.lookedAt(got.looked, number(got.looked_hours, 1), effective);
    const share = got.share === null || got.usage_hours === null ? "" : say.ofHeld(percent(got.share), number(got.usage_hours, 1));
    return say.ofRuns(got.runs, number(got.gpu_hours, 1), share, all ? effective : "") + rest + (got.sampled ? say.bySome(got.sampled) : "") + ". " + (share && Number(got.share) < 0.995 ? say.theRest : "") + (got.withheld ? say.withheld(got.withheld) : "");
}

const SOON_MS = 2000;
const AGAIN_MS = 30000;
/** Where the hub did not answer. */
const NONE = /** @type {any} */ ({ lines: [] });

/** The hub keeps it ready and up to date; a hub that just started still reads the runs of the week. @param {{ kind?: string, name?: string }} props */
export function Advise({ kind = "", name = "" }) {
    const [got, setGot] = useState(/** @type {import("../kit/types").Advised | null} */ (null));
    useEffect(() => {
        const stop = new AbortController();
        let timer = 0;
        const look = () =>
            ask(`/api/v1/advise${name && `?${kind}=${encodeURIComponent(name)}`}`, { signal: stop.signal }).then(
                (v) => {
                    setGot(v);
                    timer = window.setTimeout(look, v.ready === false ? SOON_MS : AGAIN_MS);
                },
                (e) => {
                    if (e.name === "AbortError") return;
                    setGot((was) => was ?? NONE);
                    timer = window.setTimeout(look, AGAIN_MS);
                },
            );
        void look();
        return () => {
            clearTimeout(timer);
            stop.abort();
        };
    }, [kind, name]);
    if (!got || got.ready === false) return html`<section class="asking" aria-label=${say.givesBack} aria-busy="true"><h2>${say.givesBack}</h2><p class="dim">${say.readingRuns}</p></section>`;
    if (!got.lines.length) return null;
    return html`<section class="asking" aria-label=${say.givesBack}>
        <h2>${say.givesBack}</h2>
        <p class="dim">${head(got)}</p>
        <ol>${got.lines.map((l) => html`<li key=${`${l.person} ${l.rule}`}>
            ${kind !== "person" && l.person && html`<${Person} name=${l.person} />: `}${say.gpuHours(number(l.gpu_hours, 1))}${l.cost === null ? "" : `, ${number(l.cost, 2)} ${got.currency ?? ""}`}, <a href="/run/${l.run}">${say.inRuns(l.runs, l.name)}</a>: ${l.title} (${l.evidence}): ${l.remedy}
        </li>`)}</ol>
    </section>`;
}
