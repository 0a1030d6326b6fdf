/* Where reading takes a token, a browser gets the login form at every address, and then what is there. */
import assert from "node:assert/strict";
import { MUSTER, clean, counts, hub, layoutProblems, open, refused, run, shot, test, token, until } from "../kit/lib.mjs";

test("without a token every address shows the login form", async (t) => {
    const h = await hub(t, { flags: ["--read", "token"] });
    const page = await open(t, h.url);
    for (const path of ["/", "/history", "/run/abc", "/node/abc", "/gpu/abc", "/person/kim", "/add", "/gpu_table", "/no/such/place", "/states/abc", "/api/v1/state"]) {
        await page.goto(h.url + path);
        await page.getByText("To view this hub you need a token.").waitFor();
        assert.deepEqual(await page.locator("main h1, main h2").allTextContents(), ["Log in"], path);
        assert.equal(new URL(page.url()).pathname, path);
    }
    await shot(page, "login-needed");
    assert.deepEqual(await layoutProblems(page), []);
    assert.equal((await fetch(h.url + "/states/abc")).headers.get("content-type"), "application/problem+json");
    assert.ok(page.wrong.every((w) => /40[14]/.test(w)), page.wrong.join("\n"));
});

test("who logs in stays at the address, and has the form again when the token is revoked", async (t) => {
    const h = await hub(t, { flags: ["--read", "token"] });
    const reader = await token(t, h, "reader");
    const page = await open(t, h.url + "/people?at=-1h");
    const logIn = async () => {
        await page.getByLabel("Token").fill(reader);
        await page.keyboard.press("Enter");
    };
    await logIn();
    await page.getByRole("link", { name: "reader", exact: true }).waitFor();
    await counts(page.locator("main form"), 0);
    assert.equal(page.url(), h.url + "/people?at=-1h");
    await page.context().clearCookies();
    await page.goto(h.url + "/api/v1/state"); /* which no view draws */
    await logIn();
    await until("the state", async () => (await page.locator("body").innerText()).includes('"nodes":[]'));
    await page.goto(h.url + "/");
    await page.getByText("Add the first one").waitFor();
    await run(t, MUSTER, "token", "revoke", reader.slice(4, 12), "--data", h.dir);
    await page.getByText("To view this hub you need a token.").waitFor();
    await counts(page.locator(".lost-line"), 0);
    refused(page, 401);
    clean(page);
});
