/* print.js: what is printed: the view one looks at, on light paper; of Now a table (paper.js). */
import { render } from "preact";
import { html } from "../kit/html.js";
import { keepLoading } from "../kit/later.js";
import { applyTheme } from "../kit/prefs.js";

/** @param {() => boolean} isNow whether that view is shown */
export function startPrint(isNow) {
    const paper = /** @type {HTMLElement} */ (document.getElementById("print"));
    /** @type {any} */
    let Paper = null;
    let printing = false;
    const draw = () => render(printing && Paper && isNow() ? html`<${Paper} />` : null, paper);
    keepLoading(() => import("./paper.js"), (m) => {
        Paper = m.Paper;
        draw();
    });
    addEventListener("beforeprint", () => {
        document.documentElement.dataset.theme = "light"; /* charts are drawn again in its colours */
        printing = true;
        draw();
    });
    addEventListener("afterprint", () => {
        applyTheme();
        printing = false;
        draw();
    });
}
