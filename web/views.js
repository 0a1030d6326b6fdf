/* views.js: every view, once. The hub serves index.html for these paths (src/hub/routes.c); navigation, keys and links
 * loop over this list. A view is loaded when it is first opened. */

/** @typedef {import("./types").View} View */

/** @type {View[]} */
export const views = [
    { path: "/", title: "Now", nav: "Now", key: "n", load: () => import("./views/now.js") },
    { path: "/usage", title: "Usage", nav: "Usage", key: "u", load: () => import("./views/usage.js") },
    { path: "/bookings", title: "Bookings", nav: "Bookings", key: "b", load: () => import("./views/bookings.js") },
    { path: "/people", title: "People", nav: "People", key: "p", load: () => import("./views/people.js") },
    { path: "/events", title: "Events", nav: "Events", key: "e", load: () => import("./views/events.js") },
    { path: "/alerts", title: "Alerts", nav: "Alerts", key: "a", load: () => import("./views/alerts.js") },
    { path: "/node/", title: "Node", load: () => import("./views/node.js") },
    { path: "/gpu/", title: "GPU", load: () => import("./views/gpu.js") },
    { path: "/login", title: "Log in", load: () => import("./views/login.js") },
    { path: "/add", title: "Add a node", load: () => import("./views/add.js") },
];

export const navigation = views.filter((v) => v.nav);

/** @param {string} path @returns {{ view: View, arg: string } | null} */
export function viewFor(path) {
    for (const view of views) {
        const goesOn = view.path.length > 1 && view.path.endsWith("/");
        if (path === view.path || (path === "/gpu_table" && view.path === "/")) return { view, arg: "" };
        if (goesOn && path.startsWith(view.path)) return { view, arg: path.slice(view.path.length) };
    }
    return null;
}
