/* facts.js: what the hub says of metrics and states beforehand; it stands in index.html, so it is there at once. */
import { say } from "./words.en.js";

/** @type {import("./types").Facts} */
export const facts = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("facts")).textContent ?? "{}");

/** @type {Map<string, import("./types").Metric>} */
export const metrics = new Map(facts.metrics.map((m) => [m.name, m]));

/** What every screen calls it; one declared at run time is called by its name. @param {string} name */
export const metricLabel = (name) => metrics.get(name)?.label ?? name.replaceAll("_", " ");

for (const m of facts.metrics) m.label = say.metrics[m.name] ?? m.label; /* in English the hub's own words do */
for (const s of facts.states) s.meaning = say.meanings[s.word] ?? s.meaning;

export const states = facts.states;

/** What every screen calls the state of a GPU, of a node, or an event of this word (state_shown of src/model/state.c); filters and URLs have the word itself. @param {string} word */
export const stateName = (word) => say.states[word] ?? word;

/** @type {Map<string, typeof states[number]>} */
export const stateOf = new Map(states.map((s) => [s.word, s]));
