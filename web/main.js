/* main.js: the page starts here. The view Now is loaded with the frame, because most people come for it; the others when they are opened. */
import { render } from "preact";
import { App, provide } from "./app.js";
import { html } from "./kit/html.js";
import { place, startRouter } from "./kit/router.js";
import { startPrint } from "./now/print.js";
import Now from "./now/view.js";
import { startTitle } from "./title.js";
import { viewFor, views } from "./views.js";

provide(views[0], Now);
startRouter();
startPrint(() => viewFor(place.path)?.view === views[0]);
startTitle();
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
