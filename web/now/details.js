/* details.js: what a GPU tells when one hovers over it, focuses or taps it: who is on it since when and with how much memory, how warm it is, how old that is. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../kit/html.js";
import { later } from "../kit/later.js";
import { live } from "../kit/live.js";
import { useLive, useWindow } from "../kit/use.js";

const Panel = later(() => import("./panel.js"), "Panel");

const SLOW_MS = 120; /* a pointer that only passes by opens nothing */

/** @param {string} uuid */
function find(uuid) {
    for (const n of live.nodes) for (const d of n.devices) if (d.uuid === uuid) return { n, d };
    return null;
}

/** The one panel of a view. of: the element whose cells ([data-uuid]) it speaks of. @param {{ of: { current: HTMLElement | null } }} props */
export function Details({ of }) {
    const [open, setOpen] = useState(/** @type {{ uuid: string, cell: HTMLElement } | null} */ (null));
    const timer = useRef(0);
    useLive();

    useLayoutEffect(() => {
        /* before the first paint: a pointer may already be there */
        const box = of.current;
        if (!box) return undefined;
        /** @param {Event} e */
        const cellOf = (e) => (e.target instanceof Element ? /** @type {HTMLElement | null} */ (e.target.closest("[data-uuid]")) : null);
        /** @param {HTMLElement | null} cell @param {number} ms */
        const show = (cell, ms) => {
            clearTimeout(timer.current);
            timer.current = window.setTimeout(() => setOpen(cell ? { uuid: cell.dataset.uuid ?? "", cell } : null), ms);
        };
        /** @param {PointerEvent} e */
        const over = (e) => {
            if (e.pointerType === "touch") return;
            const cell = cellOf(e);
            if (cell) show(cell, SLOW_MS);
        };
        /** @param {PointerEvent} e */
        const out = (e) => {
            if (e.pointerType !== "touch" && cellOf(e)) show(null, 2 * SLOW_MS);
        };
        /** @param {Event} e */
        const focus = (e) => {
            const cell = cellOf(e);
            if (cell?.matches(":focus-visible")) show(cell, 0);
        };
        const blur = () => show(null, 2 * SLOW_MS);
        /** A finger cannot hover: the first tap tells, the panel has the link. @param {MouseEvent} e */
        const tap = (e) => {
            const cell = cellOf(e);
            if (!cell || /** @type {PointerEvent} */ (e).pointerType !== "touch") return;
            e.preventDefault();
            e.stopPropagation();
            show(cell, 0);
        };
        const on = /** @type {[string, any][]} */ ([["pointerover", over], ["pointerout", out], ["focusin", focus], ["focusout", blur], ["click", tap]]);
        for (const [name, f] of on) box.addEventListener(name, f);
        return () => {
            clearTimeout(timer.current);
            for (const [name, f] of on) box.removeEventListener(name, f);
        };
    }, []);

    useWindow("keydown", (e) => {
        if (e.key === "Escape") setOpen(null);
    });
    useWindow("scroll", () => setOpen(null));

    const found = open && open.cell.isConnected ? find(open.uuid) : null;
    if (!open || !found) return null;
    const close = () => setOpen(null);
    const stay = () => clearTimeout(timer.current);
    const leave = () => {
        timer.current = window.setTimeout(close, 2 * SLOW_MS);
    };
    return html`<${Panel} ...${found} cell=${open.cell} stay=${stay} leave=${leave} close=${close} />`;
}
