/* count.js: the number beside "Alerts" in the navigation: how many fire and are not silenced; nothing when none do. */
import { html } from "../kit/html.js";
import { useLive } from "../kit/use.js";
import { useAlerts } from "./alerts.js";
import { say } from "./words.en.js";

const MANY = 99;

export function AlertCount() {
    const { status } = useLive();
    const { firing } = useAlerts(status === "live" || status === "past");
    return firing > 0 && html` <span class="badge" title=${say.firing(firing)}>${firing > MANY ? `${MANY}+` : firing}</span>`;
}
