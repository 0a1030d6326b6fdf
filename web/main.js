/* main.js: the page starts here. The view Now is loaded with the frame, because most people come for it; the others when they are opened. */
import { render } from "preact";
import { App, provide } from "./app.js";
import { html } from "./kit/html.js";
import { startRouter } from "./kit/router.js";
import { startPrint } from "./now/print.js";
import Now from "./now/view.js";
import { startTitle } from "./title.js";
import { views } from "./views.js";

provide(views[0], Now);
startRouter();
startPrint();
startTitle();
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
