/* facts.js: what the hub says of metrics and states beforehand; it stands in index.html, so it is there at once. */

/** @type {import("./types").Facts} */
export const facts = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("facts")).textContent ?? "{}");

/** @type {Map<string, import("./types").Metric>} */
export const metrics = new Map(facts.metrics.map((m) => [m.name, m]));

/** What every screen calls it; one declared at run time is called by its name. @param {string} name */
export const metricLabel = (name) => metrics.get(name)?.label ?? name.replaceAll("_", " ");

export const states = facts.states;

/** @type {Map<string, typeof states[number]>} */
export const stateOf = new Map(states.map((s) => [s.word, s]));
