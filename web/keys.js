/* keys.js: keys that work in every view, Ctrl-K to go anywhere, and arrows that go from GPU to GPU. */
import { whenLoaded } from "./kit/later.js";
import { go } from "./kit/router.js";
import { navigation } from "./views.js";

const GO_MS = 1200; /* for the letter after g */

/** The cell to go to: the nearest one in that direction. @param {HTMLElement} from @param {string} key */
function nextCell(from, key) {
    const cells = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-uuid]")]);
    const i = cells.indexOf(from);
    if (key === "ArrowLeft" || key === "ArrowRight") return cells[i + (key === "ArrowLeft" ? -1 : 1)];
    const here = from.getBoundingClientRect();
    const down = key === "ArrowDown";
    let best = null;
    let least = Infinity;
    for (const c of cells) {
        const r = c.getBoundingClientRect();
        const away = down ? r.top - here.top : here.top - r.top;
        if (away < 4) continue;
        const far = away * 16 + Math.abs(r.left - here.left); /* the next line first, in it the nearest column */
        if (far < least) [best, least] = [c, far];
    }
    return best;
}

export function goAnywhere() {
    whenLoaded(import("./goto.js"), (m) => m.openGoto());
}

/** @param {{ help: () => void }} to */
export function startKeys({ help }) {
    let g = -Infinity; /* when g was pressed */
    addEventListener("keydown", (e) => {
        const at = e.target instanceof HTMLElement ? e.target : null;
        if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "k" && !document.querySelector("dialog[open]")) {
            e.preventDefault();
            goAnywhere();
            return;
        }
        if (e.ctrlKey || e.metaKey || e.altKey || at?.matches("input, textarea, select") || document.querySelector("dialog[open]")) return;
        const afterG = e.timeStamp - g < GO_MS;
        g = -Infinity;
        if (afterG) {
            const view = navigation.find((v) => v.key === e.key);
            if (view) go(view.path);
        } else if (e.key === "g") {
            g = e.timeStamp;
        } else if (e.key === "/") {
            document.getElementById("filter")?.focus();
        } else if (e.key === "?") {
            help();
        } else if (e.key.startsWith("Arrow") && at?.dataset.uuid) {
            const next = nextCell(at, e.key);
            next?.focus();
            next?.scrollIntoView({ block: "nearest" });
        } else {
            return;
        }
        e.preventDefault();
    });
}
