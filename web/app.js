/* app.js: the frame around every view: the name, the navigation, who we are, the switch between light and dark; and the view that the URL names. */
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { mustLogIn, useSession } from "./access/session.js";
import { AlertCount } from "./alert/count.js";
import { Banner } from "./banner.js";
import { goAnywhere, startKeys } from "./keys.js";
import { Empty } from "./kit/empty.js";
import { facts } from "./kit/facts.js";
import { html } from "./kit/html.js";
import { keepLoading, later, LoadAgain } from "./kit/later.js";
import { gpuNamed, nodeName, placeOf } from "./kit/model.js";
import { pathOf } from "./kit/person.js";
import { pref, setTheme, theme } from "./kit/prefs.js";
import { href, place, usePlace } from "./kit/router.js";
import { useLive, useTitle } from "./kit/use.js";
import { showFree } from "./title.js";
import { navigation, viewFor } from "./views.js";
import { say } from "./words.en.js";

/** @typedef {import("./kit/types").View} View */

const Help = later(() => import("./help.js"), "Help");

const THEMES = /** @type {const} */ ([["", "◑", say.systemColours], ["light", "☀", say.light], ["dark", "☾", say.dark]]);

function ThemeSwitch() {
    const [now, setNow] = useState(theme());
    const i = Math.max(0, THEMES.findIndex(([v]) => v === now));
    const next = THEMES[(i + 1) % THEMES.length];
    const onClick = () => {
        setTheme(next[0]);
        setNow(next[0]);
    };
    const words = say.colours(THEMES[i][2], next[2]);
    return html`<button type="button" class="icon" title=${words} aria-label=${words} onClick=${onClick}>${THEMES[i][1]}</button>`;
}

/** Who we are, and what only some may do. */
function Account() {
    const { role, person, known } = useSession();
    if (!known) return null;
    return html`${role === "admin" && html`<a class="tool" href="/add">${say.addNode}</a>`}
        <a class="tool" href=${href("/login", { to: place.path === "/login" ? "" : place.path + location.search })}>${role === "none" ? say.toLogIn : person ?? role}</a>`;
}

/** @param {{ help: () => void }} props */
function Header({ help }) {
    const here = viewFor(place.path);
    const me = useSession().person;
    return html`<header class="top">
        <a class="brand" href="/">muster${facts.name !== "muster" && html` <span class="dim">· ${facts.name}</span>`}</a>
        <nav aria-label=${say.views}>
            ${me && html`<a href=${pathOf("person", me)} aria-current=${place.path === `/person/${me}` ? "page" : null} title=${say.mineMeans(me)}>${say.mine}</a>`}
            ${navigation.map((v) => html`<a href=${v.path} aria-current=${v === here?.view ? "page" : null}>${v.nav}${v.path === "/alerts" && html`<${AlertCount} />`}</a>`)}
        </nav>
        <span class="tools">
            <${Account} />
            <button type="button" class="icon" title="${say.keyGo} ( Ctrl-K )" aria-label=${say.goTo} onClick=${goAnywhere}>⌕</button>
            <${ThemeSwitch} />
            <button type="button" class="icon" title="${say.help} ( ? )" aria-label=${say.help} onClick=${help}>?</button>
        </span>
    </header>
    ${facts.about && here?.view.path === "/" && html`<p class="dim about">${facts.about}</p>`}`;
}

/** @type {Map<View, any>} */
const loaded = new Map();

/** A view known beforehand need not be waited for. @param {View} view @param {any} component */
export function provide(view, component) {
    loaded.set(view, component);
}

/** @param {{ view: View, arg: string }} props */
function Outlet({ view, arg }) {
    const [, again] = useState({});
    const [failed, setFailed] = useState(/** @type {View | null} */ (null));
    useLayoutEffect(() => {
        if (view.path === "/") showFree();
        else document.title = `${decodeURIComponent(arg) || view.title} · ${facts.name}`;
    }, [view, arg]);
    useEffect(() => {
        if (loaded.has(view)) return;
        keepLoading(
            view.load,
            (m) => {
                loaded.set(view, m.default);
                setFailed((f) => (f === view ? null : f));
                again({});
            },
            () => setFailed(view),
        );
    }, [view, arg]);
    if (failed === view) {
        return html`<${Empty} title=${say.notLoaded}><p><${LoadAgain} /></p><//>`;
    }
    const Component = loaded.get(view);
    return Component ? html`<${Component} key=${view.path} arg=${arg} />` : null;
}

/** Somebody typed an address, or a link is old. What it ends with may be a node or a GPU. @param {{ path: string }} props */
function Nothing({ path }) {
    useTitle(say.notFound);
    const { nodes } = useLive();
    const word = decodeURIComponent(path.split("/").at(-1) ?? "");
    const { node, d } = gpuNamed(nodes, word);
    const meant = nodes.find((n) => n.name === word);
    return html`<${Empty} title=${say.nothingAt(path)}>
        ${meant && html`<p>${say.theNode} <a href="/node/${encodeURIComponent(meant.name)}">${nodeName(meant)}</a></p>`}
        ${node && d && html`<p>${say.theGpu} <a href="/gpu/${encodeURIComponent(d.uuid)}">${placeOf(node, d)}</a></p>`}
        <p><a href="/">${say.whichFree}</a></p>
    <//>`;
}

/** Past the navigation, with the keyboard. @param {Event} e */
function skip(e) {
    e.preventDefault();
    document.getElementById("main")?.focus();
}

export function App() {
    const [help, setHelp] = useState(false);
    const { path } = usePlace();
    useLayoutEffect(() => startKeys({ help: () => setHelp(true) }), []);
    useEffect(() => {
        if (pref("waits", "")) keepLoading(() => import("./book/line.js"), (m) => m.keepPlaces());
    }, []);
    useSession();
    const barred = mustLogIn();
    useEffect(() => {
        if (!barred) return;
        return () => void (viewFor(place.path) || location.reload()); /* logged in where no view is: the hub may have something there */
    }, [barred]);
    const found = viewFor(barred ? "/login" : path);
    return html`<a class="skip" href="#main" onClick=${skip}>${say.skip}</a>
        <${Header} help=${() => setHelp(true)} />
        <${Banner} />
        <main id="main" tabindex="-1">
            ${found ? html`<${Outlet} view=${found.view} arg=${found.arg} />` : html`<${Nothing} path=${path} />`}
        </main>
        ${help && html`<${Help} close=${() => setHelp(false)} />`}`;
}
