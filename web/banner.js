/* banner.js: the lines over a view that nobody should miss: this is a demo, what the hub says of itself (its disk is full), the connection is lost, a part of the page did not come. */
import { exactTime, span } from "./kit/format.js";
import { html } from "./kit/html.js";
import { Missing } from "./kit/later.js";
import { useLive, useTick } from "./kit/use.js";
import { say } from "./words.en.js";

function Lost() {
    useTick();
    const { heardMs, problem } = useLive();
    return html`<p class="banner lost-line" role="alert">${say.lost(span(Date.now() - heardMs))} <span class="why">${say.tryingAgain(problem?.detail)}</span></p>`;
}

export function Banner() {
    const { demo, notice, status, nodes, at, problem } = useLive();
    return html`${demo && html`<p class="banner demo">${say.demo}</p>`}
        ${notice && status === "live" && html`<p class="banner notice" role="alert">${notice}</p>`}
        ${status === "past" && at && html`<p class="banner past" role="status">${say.asItWas(exactTime(at))}</p>`}
        ${status === "lost" && nodes.length > 0 && problem?.status !== 401 && html`<${Lost} />`}
        <${Missing} lost=${status === "lost"} />`;
}
