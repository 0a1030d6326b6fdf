/* What a browser is shown where the hub has nothing: sentences, not JSON. */
import assert from "node:assert/strict";
import { get } from "node:http";
import { clean, hub, looksRight, open, refused, says, simulate, test, until } from "../kit/lib.mjs";

test("an address with nothing at it is the page, which says so and what may be meant", async (t) => {
    const h = await hub(t);
    await simulate(t, h, 1, "--gpus", 2);
    const page = await open(t, h.url + "/sim1");
    refused(page, 404);
    await says(page.locator("main"), "There is nothing at /sim1 The node: sim1 Which GPUs are free now");
    await until("the tab's title", async () => (await page.title()).startsWith("not found · "));
    await looksRight(page, "nothing-here");
    await page.goto(h.url + "/old/sim1:1");
    await says(page.locator("main"), "There is nothing at /old/sim1:1 The GPU: sim1:1 Which GPUs are free now");
    await page.getByRole("link", { name: "sim1:1" }).click();
    await says(page.locator("h1"), /^sim1 · GPU 1 /);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(h.url + "/no/such/place");
    await says(page.locator("main"), "There is nothing at /no/such/place Which GPUs are free now");
    await looksRight(page, "nothing-here-narrow");
    for (const path of ["/sim1", "/api/v1/nonsense"]) {
        const r = await fetch(h.url + path); /* a program, which reads JSON */
        assert.equal(r.status, 404);
        assert.match((await r.json()).detail, /openapi\.json lists what there is/);
        assert.equal((await fetch(h.url + path, { headers: { Accept: "text/html,*/*" } })).status, 404);
    }
    clean(page);
});

test("under a name that is not the hub's a browser is told so, and what to do", async (t) => {
    const h = await hub(t);
    const told = await new Promise((go, wrong) =>
        get(`${h.url}/usage`, { headers: { Host: `gpus.example:${h.port}`, Accept: "text/html" } }, (r) => {
            let text = "";
            r.setEncoding("utf8").on("data", (d) => (text += d)).on("end", () => go({ status: r.statusCode, rules: r.headers["content-security-policy"], text }));
        }).on("error", wrong));
    assert.equal(told.status, 421);
    assert.match(told.rules, /default-src 'none'/);
    const page = await open(t, h.url);
    await page.route("**/usage", (r) => r.fulfill({ contentType: "text/html", headers: { "Content-Security-Policy": told.rules }, body: told.text }));
    await page.goto(`${h.url}/usage`);
    await says(page.locator("h1"), `This hub is not known as gpus.example:${h.port}`);
    await says(page.locator("body"), /host_names: \[gpus\.example\] in muster\.yaml, or --host-names gpus\.example\.$/);
    await looksRight(page, "foreign-host");
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: "dark" });
    await looksRight(page, "foreign-host-narrow-dark");
});
