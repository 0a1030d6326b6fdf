/* language.js: the language of the page, which the hub chose (docs/internals/web.md), and how dates and numbers are written. */

/** Each by its own name. @type {[string, string][]} */
export const LANGUAGES = [["en", "English"], ["ja", "日本語"]];

export const language = document.documentElement.lang;

const own = navigator.language.slice(0, 2);

/** As the browser has it (undefined), unless it speaks one of ours and another was chosen. */
export const locale = own === language || !LANGUAGES.some(([one]) => one === own) ? undefined : language;

/** From now on, in this browser. @param {string} one */
export function choose(one) {
    document.cookie = `muster_language=${one}; path=/; max-age=31536000; samesite=lax`;
    location.reload();
}

/** @param {Intl.DateTimeFormatOptions} how */
export const dates = (how) => new Intl.DateTimeFormat(locale, how);
