/* count.js: how much fires that nobody silenced, beside the word in the navigation; nothing when nothing does. */
import { html } from "../kit/html.js";
import { useLive } from "../kit/use.js";
import { useAlerts } from "./alerts.js";

const MANY = 99;

export function AlertCount() {
    const { status } = useLive();
    const { firing } = useAlerts(status === "live" || status === "past");
    return firing > 0 && html` <span class="badge" title="${firing} firing, not silenced">${firing > MANY ? `${MANY}+` : firing}</span>`;
}
