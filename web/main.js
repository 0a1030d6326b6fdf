/* main.js: where it starts. The view one most often comes for is loaded with the frame. */
import { render } from "preact";
import { App, provide } from "./app.js";
import { html } from "./kit/html.js";
import { startRouter } from "./kit/router.js";
import { startPrint } from "./now/print.js";
import Now from "./now/view.js";
import { views } from "./views.js";

provide(views[0], Now);
startRouter();
startPrint();
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
