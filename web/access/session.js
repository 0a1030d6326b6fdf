/* session.js: whom the hub takes us for, logging in and out. What one may not do is not offered; the hub refuses it all the same. */
import { ask, send } from "../kit/api.js";
import { live, onChange, watchAgain } from "../kit/live.js";
import { useNews } from "../kit/use.js";

/** @typedef {import("../kit/types").Session} Session */

/** known: the hub has said who we are. @type {Session & { known: boolean }} */
export const session = { role: "none", known: false };

/** @type {Set<() => void>} */
const readers = new Set();

/** @param {Session} now */
function become(now) {
    session.role = now.role;
    session.person = now.person;
    session.read = now.read ?? session.read;
    session.known = true;
    for (const tell of [...readers]) tell();
}

async function look() {
    try {
        become(await ask("/api/v1/whoami"));
    } catch {
        return; /* the banner says that the hub is away */
    }
}

/** Throws a Problem. @param {string} token */
export async function logIn(token) {
    become(await send("/api/v1/login", { token: token.trim() }));
    watchAgain();
}

/** With what a link brought, which works once. Throws a Problem. @param {string} once */
export async function logInOnce(once) {
    become(await send("/api/v1/login", { once }));
    watchAgain();
}

/** Throws a Problem. @param {boolean} [all] every session of ours, in other browsers too */
export async function logOut(all = false) {
    await send("/api/v1/logout", all ? { all } : {});
    become({ role: "none" });
    watchAgain();
}

/** Nothing of the hub can be read before logging in. */
export const mustLogIn = () => session.known && session.role === "none" && session.read === "token";

/* The session may end while the page is open. */
onChange(() => {
    if (live.problem?.status === 401 && session.known && !mustLogIn()) void look();
});

let looked = false;

/** @param {() => void} tell @returns {() => void} stop */
function onSession(tell) {
    readers.add(tell);
    if (!looked) void look();
    looked = true;
    return () => readers.delete(tell);
}

/** Who we are, and a new rendering when that changes. */
export function useSession() {
    useNews(onSession);
    return session;
}
