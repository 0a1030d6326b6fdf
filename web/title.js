/* title.js: the tab's title on Now: how many GPUs are free, also while nobody looks at the page and its line is let go. */
import { ask } from "./kit/api.js";
import { facts } from "./kit/facts.js";
import { hubNow, live, onChange } from "./kit/live.js";
import { tally } from "./kit/model.js";
import { href, place } from "./kit/router.js";
import { viewFor } from "./views.js";
import { say } from "./words.en.js";

const HIDDEN_MS = 60000; /* so often it is asked for then */

const onNow = () => viewFor(place.path)?.view.path === "/";

/** @param {number} [free] undefined: not known, or of the past */
function show(free) {
    if (onNow()) document.title = free === undefined ? facts.name : `${say.free(free)} · ${facts.name}`;
}

export function showFree() {
    show(live.status === "live" && live.nodes.length ? tally(live.nodes, hubNow()).by.free ?? 0 : undefined);
}

function askHidden() {
    if (!document.hidden || !onNow() || live.status === "past") return;
    ask(href("/api/v1/summary", { filter: live.filter })).then((s) => document.hidden && show(s.free), () => show());
}

export function startTitle() {
    onChange(showFree);
    setInterval(askHidden, HIDDEN_MS);
}
