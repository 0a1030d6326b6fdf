/* views.js: every view, once. The hub serves index.html for these paths (src/hub/routes.c); navigation, keys and links
 * loop over this list. A view is loaded when it is first opened. */

/** @typedef {import("./kit/types").View} View */

/** @type {View[]} */
export const views = [
    { path: "/", also: ["/gpu_table", "/index.php"], title: "Now", nav: "Now", key: "n", load: () => import("./now/view.js") },
    { path: "/history", title: "History", nav: "History", key: "h", load: () => import("./history/view.js") },
    { path: "/usage", title: "Usage", nav: "Usage", key: "u", load: () => import("./usage/view.js") },
    { path: "/trends", title: "Trends", load: () => import("./usage/view_trends.js") },
    { path: "/reports", title: "Reports", load: () => import("./report/view.js") },
    { path: "/bookings", title: "Bookings", nav: "Bookings", key: "b", load: () => import("./book/view.js") },
    { path: "/people", title: "People", nav: "People", key: "p", load: () => import("./people/view.js") },
    { path: "/events", title: "Events", nav: "Events", key: "e", load: () => import("./history/view_events.js") },
    { path: "/alerts", title: "Alerts", nav: "Alerts", key: "a", load: () => import("./alert/view.js") },
    { path: "/person/", title: "Person", load: () => import("./people/view_person.js") },
    { path: "/team/", title: "Team", load: () => import("./people/view_person.js") },
    { path: "/node/", title: "Node", load: () => import("./nodes/view_node.js") },
    { path: "/gpu/", title: "GPU", load: () => import("./nodes/view_gpu.js") },
    { path: "/login", title: "Log in", load: () => import("./access/view_login.js") },
    { path: "/add", title: "Add a node", load: () => import("./nodes/view_add.js") },
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
