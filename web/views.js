/* views.js: every view, once. The hub serves index.html for these paths (src/hub/routes.c); navigation, keys and links
 * loop over this list. A view is loaded when it is first opened. */
import { say } from "./words.en.js";

/** @typedef {import("./kit/types").View} View */

/** @type {View[]} */
export const views = [
    { path: "/", also: ["/gpu_table", "/index.php"], title: say.now, nav: say.now, key: "n", load: () => import("./now/view.js") },
    { path: "/history", title: say.history, nav: say.history, key: "h", load: () => import("./history/view.js") },
    { path: "/usage", title: say.usage, nav: say.usage, key: "u", load: () => import("./usage/view.js") },
    { path: "/trends", title: say.trends, load: () => import("./usage/view_trends.js") },
    { path: "/reports", title: say.reports, load: () => import("./report/view.js") },
    { path: "/bookings", title: say.bookings, nav: say.bookings, key: "b", load: () => import("./book/view.js") },
    { path: "/people", title: say.people, nav: say.people, key: "p", load: () => import("./people/view.js") },
    { path: "/events", title: say.events, nav: say.events, key: "e", load: () => import("./history/view_events.js") },
    { path: "/alerts", title: say.alerts, nav: say.alerts, key: "a", load: () => import("./alert/view.js") },
    { path: "/person/", title: say.person, load: () => import("./people/view_person.js") },
    { path: "/team/", title: say.team, load: () => import("./people/view_person.js") },
    { path: "/node/", title: say.node, load: () => import("./nodes/view_node.js") },
    { path: "/gpu/", title: say.gpu, load: () => import("./nodes/view_gpu.js") },
    { path: "/run/", title: say.run, load: () => import("./runs/view.js") },
    { path: "/login", title: say.logIn, load: () => import("./access/view_login.js") },
    { path: "/add", title: say.add, load: () => import("./nodes/view_add.js") },
];

export const navigation = views.filter((v) => v.nav);

/** @param {string} path @returns {{ view: View, arg: string } | null} */
export function viewFor(path) {
    for (const view of views) {
        const goesOn = view.path.length > 1 && view.path.endsWith("/");
        if (path === view.path || view.also?.includes(path)) return { view, arg: "" };
        if (goesOn && path.startsWith(view.path)) return { view, arg: path.slice(view.path.length) };
    }
    return null;
}
