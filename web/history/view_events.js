/* view_events.js: the view /events: what happened in the whole cluster, newest first. */
import { useEffect, useState } from "preact/hooks";
import { ask } from "../kit/api.js";
import { Empty } from "../kit/empty.js";
import { html } from "../kit/html.js";
import { Events } from "./events.js";

/** @typedef {import("../kit/types").EventRecord} EventRecord */
/** @typedef {import("../kit/types").Problem} Problem */

const AGAIN_MS = 10000;

export default function EventsView() {
    const [events, setEvents] = useState(/** @type {EventRecord[] | null} */ (null));
    const [wrong, setWrong] = useState(/** @type {Problem | null} */ (null));
    useEffect(() => {
        const look = () => ask("/api/v1/events?limit=500").then((v) => (setEvents(v), setWrong(null)), setWrong);
        void look();
        const timer = setInterval(look, AGAIN_MS);
        return () => clearInterval(timer);
    }, []);
    if (wrong && !events) return html`<${Empty} title="Events cannot be shown"><p>${wrong.detail}</p><//>`;
    return events && html`<${Events} events=${events} nodes label="What happened" />`;
}
