/* main.js: where it starts. The view one most often comes for is loaded with the frame. */
import { render } from "preact";
import { App, provide } from "./app.js";
import { html } from "./html.js";
import { startPrint } from "./parts/print.js";
import { startRouter } from "./router.js";
import { views } from "./views.js";
import Now from "./views/now.js";

provide(views[0], Now);
startRouter();
startPrint();
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
