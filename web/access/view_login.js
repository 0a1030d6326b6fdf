/* view_login.js: the view /login: a token, or a link that works once, becomes a session. The page itself keeps neither. */
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../kit/html.js";
import { go, place } from "../kit/router.js";
import { logIn, logInOnce, logOut, useSession } from "./session.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Problem} Problem */

/** Views that the hub replaces with a page of its own for those who may read. */
const HUBS_OWN = ["/gpu_table"];

/** Back to where one came from, or stay at the address where the form was shown; never to another site. */
function onwards() {
    const asked = place.path === "/login" ? place.query.get("to") ?? "/" : place.path + location.search;
    const to = asked.startsWith("/") && !asked.startsWith("//") ? asked : "/";
    if (HUBS_OWN.includes(to.split("?")[0])) location.replace(to);
    else go(to, true);
}

/** What a link brought; taken out of the address at once, so that neither that nor the history keeps it. */
function takeOnce() {
    const once = /^#once=([\w-]+)$/.exec(location.hash)?.[1] ?? "";
    if (once) history.replaceState(null, "", location.pathname + location.search);
    return once;
}

/** @param {{ role: string, person?: string }} props */
function LoggedIn({ role, person }) {
    const [wrong, setWrong] = useState("");
    const leave = (/** @type {boolean} */ all) => logOut(all).then(onwards, (/** @type {Problem} */ e) => setWrong(e.detail));
    return html`<div class="form">
        <h1>${say.loggedIn}</h1>
        <p>${say.asWhom(person, role)}</p>
        <p><button type="button" onClick=${() => leave(false)}>${say.logOut}</button>${" "}
            <button type="button" onClick=${() => leave(true)}>${say.logOutAll}</button></p>
        <p class="dim">${say.logOutMeans}</p>
        ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
    </div>`;
}

export default function LogIn() {
    const { role, person, known, read } = useSession();
    const [token, setToken] = useState("");
    const [busy, setBusy] = useState(false);
    const [wrong, setWrong] = useState("");
    const box = useRef(/** @type {HTMLInputElement | null} */ (null));
    useEffect(() => {
        box.current?.focus();
        const redeem = () => {
            const once = takeOnce();
            if (!once) return;
            setBusy(true);
            logInOnce(once)
                .then(onwards, (/** @type {Problem} */ e) => setWrong(e.detail))
                .finally(() => setBusy(false));
        };
        redeem();
        addEventListener("hashchange", redeem);
        return () => removeEventListener("hashchange", redeem);
    }, []);
    if (known && role !== "none") return html`<${LoggedIn} role=${role} person=${person} />`;

    /** @param {Event} e */
    async function onSubmit(e) {
        e.preventDefault();
        setBusy(true);
        try {
            await logIn(token);
            setToken("");
            onwards();
        } catch (problem) {
            setWrong(/** @type {Problem} */ (problem).detail);
            box.current?.select();
        }
        setBusy(false);
    }

    return html`<form class="form" onSubmit=${onSubmit}>
        <h1>${say.logIn}</h1>
        ${known && html`<p>${read === "open" ? say.readOpen : say.readToken}</p>`}
        <label>${say.token}
            <input ref=${box} type="password" name="token" autocomplete="current-password" required spellcheck=${false} aria-invalid=${!!wrong}
                aria-describedby=${wrong ? "login-error" : null} value=${token} onInput=${(/** @type {any} */ e) => setToken(e.currentTarget.value)} />
        </label>
        ${wrong && html`<p class="error" id="login-error" role="alert">${wrong}</p>`}
        <p><button disabled=${busy}>${busy ? say.oneMoment : say.logIn}</button></p>
        <p class="dim">${say.aboutTokens(html`<code>muster token new --role member --person LOGIN</code>`, html`<code>--role admin</code>`, html`<code>--role reader</code>`)}</p>
    </form>`;
}
