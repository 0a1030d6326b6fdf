/* cross.js: the moment one points at, by mouse or finger: a line through charts and lanes alike, of which each says what was then. */
import { useState } from "preact/hooks";
import { html } from "./html.js";

export const AXIS_PX = 64; /* left of a chart, where its numbers stand; style.css counts on this: .lane-name */

/** Where an event is on the time axis below it, 0 to 1; undefined: beside one. @param {Event} e */
function shareOf(e) {
    const el = e.target instanceof Element && e instanceof PointerEvent ? e.target.closest(".plot, .track") : null;
    if (!el) return undefined;
    const { left, width } = el.getBoundingClientRect();
    const axis = el.classList.contains("plot") ? AXIS_PX : 0;
    const share = (/** @type {PointerEvent} */ (e).clientX - left - axis) / (width - axis);
    return share >= 0 && share <= 1 ? share : undefined;
}

/**
 * moment: which is pointed at, ms; undefined: none. A finger's stays when it is lifted. on: what the element around them all listens to.
 * @param {number} from @param {number} to
 */
export function useMoment(from, to) {
    const [moment, setMoment] = useState(/** @type {number | undefined} */ (undefined));
    const point = (/** @type {PointerEvent} */ e) => {
        const share = shareOf(e);
        setMoment(share === undefined ? undefined : from + share * (to - from));
    };
    const leave = (/** @type {PointerEvent} */ e) => e.pointerType === "mouse" && setMoment(undefined);
    return { moment: moment !== undefined && moment >= from && moment <= to ? moment : undefined, forget: () => setMoment(undefined), on: { onPointerMove: point, onPointerDown: point, onPointerLeave: leave } };
}

/** axis: it stands on a chart. @param {{ moment?: number, from: number, to: number, axis?: boolean }} props */
export function Cross({ moment, from, to, axis = false }) {
    if (moment === undefined) return null;
    const share = (moment - from) / (to - from);
    return html`<span class="cross" style=${{ left: axis ? `calc(${AXIS_PX}px + (100% - ${AXIS_PX}px) * ${share})` : `${100 * share}%` }} />`;
}

/** The place in x, which ascends, of what is nearest to at. @param {number[]} x @param {number} at */
export function nearest(x, at) {
    let low = 0;
    let high = x.length - 1;
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (x[middle] <= at) low = middle;
        else high = middle;
    }
    return at - x[low] <= x[high] - at ? low : high;
}
