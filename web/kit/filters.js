/* filters.js: the filters that this browser keeps. */
import { pref, setPref } from "./prefs.js";

/** Newest first. @returns {string[]} */
export const saved = () => pref("filters", "").split("\n").filter(Boolean);

/** Keep it, or forget it where it is kept. @param {string} filter */
export function flipSaved(filter) {
    const f = filter.trim();
    const rest = saved().filter((one) => one !== f);
    setPref("filters", (rest.length < saved().length ? rest : [f, ...rest]).join("\n"));
}
