/* prefs.js: what this browser remembers, the theme for one. Where it cannot (private windows, full disks) the page works all the same. */

/** @param {string} name @param {string} otherwise */
export function pref(name, otherwise) {
    try {
        return localStorage.getItem(`muster.${name}`) ?? otherwise;
    } catch {
        return otherwise;
    }
}

/** @param {string} name @param {string} value empty: forget it */
export function setPref(name, value) {
    try {
        if (value) localStorage.setItem(`muster.${name}`, value);
        else localStorage.removeItem(`muster.${name}`);
    } catch {
        return;
    }
}

/** light, dark, or empty: as the system has it */
export function theme() {
    return pref("theme", "");
}

/** @param {string} value */
export function setTheme(value) {
    setPref("theme", value);
    applyTheme();
}

export function applyTheme() {
    document.documentElement.dataset.theme = theme();
}
applyTheme();
