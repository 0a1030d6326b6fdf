/* router.js: everything that makes a view what it is stands in the URL: the path says which view, the query the rest. */
import { useNews } from "./use.js";

/** @typedef {import("./types").Place} Place */

/** @type {Set<() => void>} */
const readers = new Set();

/** @returns {Place} */
function here() {
    return { path: decodeURI(location.pathname), query: new URLSearchParams(location.search) };
}

/** Where we are. */
export const place = here();

function moved() {
    Object.assign(place, here());
    for (const tell of [...readers]) tell();
}

/** Tell when the place changes. @param {() => void} tell @returns {() => void} stop */
export function onMove(tell) {
    readers.add(tell);
    return () => readers.delete(tell);
}

/** @param {string} path @param {Record<string, string | undefined>} [query] empty and undefined are left out */
export function href(path, query = {}) {
    const q = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value) q.set(name, value);
    const text = q.toString();
    return text ? `${path}?${text}` : path;
}

/** @param {string} to @param {boolean} [replace] */
export function go(to, replace = false) {
    if (to === location.pathname + location.search) return;
    history[replace ? "replaceState" : "pushState"](null, "", to);
    if (!replace) scrollTo(0, 0);
    moved();
}

/** Change some of the query, leave the rest. @param {Record<string, string | undefined>} changes @param {boolean} [push] a step for Back */
export function setQuery(changes, push = false) {
    go(href(location.pathname, { ...Object.fromEntries(place.query), ...changes }), !push);
}

/** The place, and a new rendering when it changes. */
export function usePlace() {
    useNews(onMove);
    return place;
}

/** Links within the page do not load it again. @param {MouseEvent} e */
function onClick(e) {
    const a = e.target instanceof Element ? e.target.closest("a") : null;
    if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    if (a.origin !== location.origin || a.target || a.hasAttribute("download") || a.dataset.load !== undefined) return;
    e.preventDefault();
    go(a.pathname + a.search);
}

export function startRouter() {
    addEventListener("popstate", moved);
    document.addEventListener("click", onClick);
}
