/* choice.js: a choice of one out of a few. It stands in the URL and, where it is a matter of taste, this browser remembers it. */
import { html } from "./html.js";
import { pref, setPref } from "./prefs.js";
import { place, setQuery } from "./router.js";

/** What the URL says, else what is remembered, else otherwise. @param {string} name @param {[string, string][]} options @param {string} otherwise @param {boolean} [remember] */
export function chosen(name, options, otherwise, remember = false) {
    const v = place.query.get(name) ?? (remember ? pref(name, otherwise) : otherwise);
    return options.some(([value]) => value === v) ? v : otherwise;
}

/**
 * @param {{ name: string, label: string, options: [string, string][], value: string, otherwise?: string, remember?: boolean }} props
 * otherwise: what need not stand in the URL
 */
export function Choice({ name, label, options, value, otherwise, remember }) {
    /** @param {any} e */
    function onChange(e) {
        const v = e.currentTarget.value;
        if (remember) setPref(name, v);
        setQuery({ [name]: v === otherwise ? undefined : v });
    }
    return html`<label class="choice">${label}
        <select name=${name} onChange=${onChange} value=${value}>${options.map(([v, words]) => html`<option value=${v} selected=${v === value}>${words}</option>`)}</select>
    </label>`;
}
