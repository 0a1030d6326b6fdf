/* use.js: hooks that tie a component to the store, to the clock and to the window. */
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { facts } from "./facts.js";
import { live, onChange } from "./live.js";

/** Renders again at each news while this is on the screen: of the store, the URL, the session. @param {(tell: () => void) => () => void} on subscribes, and gives what ends that @param {() => unknown} [key] where it is told: only at news that change it */
export function useNews(on, key = () => ({})) {
    const [, again] = useState(/** @type {unknown} */ ({}));
    useEffect(() => {
        const tell = () => again(key());
        tell(); /* what came between the first rendering and now was told to nobody */
        return on(tell);
    }, []);
}

/** The store, and a new rendering whenever it changes, or only when what key() gives does. @param {() => unknown} [key] */
export function useLive(key) {
    useNews(onChange, key);
    return live;
}

/** Again and again while somebody looks at the page, and at once when they come back to it: a page that is not looked at asks nothing. @param {() => void} look @param {number} ms @returns {() => void} stop */
export function whileSeen(look, ms) {
    const ifSeen = () => document.hidden || look();
    const timer = setInterval(ifSeen, ms);
    document.addEventListener("visibilitychange", ifSeen);
    return () => {
        clearInterval(timer);
        document.removeEventListener("visibilitychange", ifSeen);
    };
}

/** @type {Set<() => void>} */
const tickers = new Set();
/** @type {(() => void) | undefined} */
let stopTicking;

function tick() {
    for (const t of [...tickers]) t();
}

/** A new rendering each second while this is on the screen: ages go on counting. */
export function useTick() {
    const [, again] = useState({});
    useEffect(() => {
        const mine = () => again({});
        tickers.add(mine);
        stopTicking ??= whileSeen(tick, 1000);
        return () => {
            tickers.delete(mine);
            if (tickers.size) return;
            stopTicking?.();
            stopTicking = undefined;
        };
    }, []);
}

/** The tab says so, before the hub's name, for as long as this is on the screen: what a view calls itself when it knows better than the URL (app.js). @param {string} words */
export function useTitle(words) {
    useEffect(() => {
        document.title = `${words} · ${facts.name}`;
    });
}

/** An event of the window while this is on the screen. @template {keyof WindowEventMap} K @param {K} name @param {(e: WindowEventMap[K]) => void} on @param {unknown[]} [deps] */
export function useWindow(name, on, deps = []) {
    useEffect(() => {
        addEventListener(name, on, { passive: name === "scroll" });
        return () => removeEventListener(name, on);
    }, deps);
}

/** How wide it is; 0 before that is known. @param {{ current: HTMLElement | null }} box */
export function useWidth(box) {
    const [width, setWidth] = useState(0);
    useLayoutEffect(() => {
        if (!box.current) return undefined;
        const look = new ResizeObserver(([e]) => setWidth(Math.floor(e.contentRect.width)));
        look.observe(box.current);
        return () => look.disconnect();
    }, []);
    return width;
}
