/* person.js: names of people and teams that lead to their page, and the filter that finds them. */
import { html } from "./html.js";

/** @param {string} kind person or team @param {string} name */
export const pathOf = (kind, name) => `/${kind}/${encodeURIComponent(name)}`;

/** Whoever it is, as a link. @param {{ name: string }} props */
export function Person({ name }) {
    return html`<a href=${pathOf("person", name)}>${name}</a>`;
}

/** "person:"kim"" @param {string} kind @param {string} name */
export const filterOf = (kind, name) => `${kind}:"${name.replaceAll(/["\\]/g, "")}"`;
