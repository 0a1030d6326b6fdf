/* drag.js: dragging in the calendar: over free time to book it, at a booking's end to move it. Fingers scroll instead; they tap. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useWindow } from "../kit/use.js";
import { room } from "./bookings.js";
import { snap, snapDown } from "./calendar.js";

/** @typedef {import("../kit/types").Booking} Booking */
/** @typedef {{ from: number, to: number, step: number }} Time */
/** What is being dragged: of a booking (b) an end, else free time on some GPUs. @typedef {{ devices: string[], from: number, until: number, b?: Booking }} Dragged */

const STILL_PX = 4;

/** @param {Element} track @param {number} x @param {Time} time */
function timeAt(track, x, { from, to }) {
    const r = track.getBoundingClientRect();
    return from + ((x - r.left) / r.width) * (to - from);
}

/** The GPUs of a node from one row to the one at y. @param {HTMLElement} track @param {number} y */
function rowsTo(track, y) {
    const all = /** @type {HTMLElement[]} */ ([...(track.closest(".calendar")?.querySelectorAll(`[data-track]`) ?? [])]).filter((t) => t.dataset.node === track.dataset.node);
    const at = all.indexOf(track);
    let end = at;
    all.forEach((t, i) => {
        const r = t.getBoundingClientRect();
        if ((i < at && y < r.bottom) || (i > at && y > r.top)) end = i < at ? Math.min(end, i) : Math.max(end, i);
    });
    return all.slice(Math.min(at, end), Math.max(at, end) + 1).map((t) => t.dataset.track ?? "");
}

/**
 * box: what holds the rows. booked, moved: told at the end of a drag; still: a press that was none.
 * @param {{ box: { current: HTMLElement | null }, time: Time, rows: Booking[], booked: (d: Dragged) => void, moved: (d: Dragged) => void, still: (uuid: string, t: number) => void }} o
 * @returns {Dragged | null}
 */
export function useDrag({ box, time, rows, booked, moved, still }) {
    const [dragged, setDragged] = useState(/** @type {Dragged | null} */ (null));
    const now = useRef({ time, rows, booked, moved, still });
    now.current = { time, rows, booked, moved, still };
    const stop = useRef(() => {});

    useEffect(() => {
        const el = box.current;
        if (!el) return undefined;

        /** @param {PointerEvent} e */
        const down = (e) => {
            const target = e.target instanceof Element ? e.target : null;
            const track = /** @type {HTMLElement | null} */ (target?.closest("[data-track]"));
            if (!track || e.pointerType === "touch" || e.button) return;
            const grip = target?.closest("[data-grip]");
            const id = Number(/** @type {HTMLElement | null} */ (target?.closest("[data-id]"))?.dataset.id);
            if (id && !grip) return;
            const b = grip ? now.current.rows.find((one) => one.id === id) : undefined;
            const begin = { x: e.clientX, y: e.clientY, t: timeAt(track, e.clientX, now.current.time) };
            const atStart = grip?.getAttribute("data-grip") === "from";
            /** @type {Dragged | null} */
            let last = null;
            e.preventDefault();

            /** @param {PointerEvent} m */
            const move = (m) => {
                if (!last && Math.abs(m.clientX - begin.x) < STILL_PX && Math.abs(m.clientY - begin.y) < STILL_PX) return;
                const { time: shown, rows: all } = now.current;
                const t = snap(timeAt(track, m.clientX, shown), shown.from, shown.step);
                if (b) {
                    const { lo, hi } = room(all, b.devices, b.from, b.id);
                    last = atStart
                        ? { b, devices: b.devices, from: Math.min(Math.max(t, lo), b.until - shown.step), until: b.until }
                        : { b, devices: b.devices, from: b.from, until: Math.min(Math.max(t, Math.max(b.from + shown.step, shown.from)), hi) };
                } else {
                    const devices = rowsTo(track, m.clientY);
                    const { lo, hi } = room(all, devices, begin.t);
                    const anchor = snapDown(begin.t, shown.from, shown.step);
                    const from = Math.max(Math.min(anchor, t), lo);
                    const until = Math.min(Math.max(anchor + shown.step, t), hi);
                    last = until > from ? { devices, from, until } : null;
                }
                setDragged(last);
            };
            const end = () => {
                removeEventListener("pointermove", move);
                removeEventListener("pointerup", up);
                removeEventListener("pointercancel", end);
                setDragged(null);
            };
            const up = () => {
                end();
                if (!last) return;
                /* the click that may follow is part of the drag */
                const swallow = (/** @type {Event} */ c) => c.stopPropagation();
                addEventListener("click", swallow, { capture: true, once: true });
                setTimeout(() => removeEventListener("click", swallow, { capture: true }), 0);
                (last.b ? now.current.moved : now.current.booked)(last);
            };
            stop.current = end;
            addEventListener("pointermove", move);
            addEventListener("pointerup", up);
            addEventListener("pointercancel", end);
        };

        /** A press that was no drag, or a tap. @param {MouseEvent} e */
        const click = (e) => {
            const target = e.target instanceof Element ? e.target : null;
            const track = /** @type {HTMLElement | null} */ (target?.closest("[data-track]"));
            if (track && !target?.closest("[data-id]")) now.current.still(track.dataset.track ?? "", timeAt(track, e.clientX, now.current.time));
        };
        el.addEventListener("pointerdown", down);
        el.addEventListener("click", click);
        return () => {
            stop.current();
            el.removeEventListener("pointerdown", down);
            el.removeEventListener("click", click);
        };
    }, [box.current]);

    useWindow("keydown", (e) => {
        if (e.key === "Escape") stop.current();
    });
    return dragged;
}
