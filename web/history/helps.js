/* helps.js: what each metric is, in the hub's sentences. Nothing needs them before the first chart, so they are asked for with it. */
import { ask } from "../kit/api.js";

/** By the metric's name; empty until the hub has told. @type {Map<string, string>} */
export const helps = new Map();

ask("/api/v1/metrics").then((facts) => facts.metrics.forEach((/** @type {any} */ m) => helps.set(m.name, m.help)), () => {});
