/* form.js: the form that books GPUs or changes a booking, over whatever view asked for it. What the hub refuses stays in the
 * form beside the hub's sentence, so nothing typed is lost. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { stateName, stateOf } from "../kit/facts.js";
import { inUnit, moment, span } from "../kit/format.js";
import { html } from "../kit/html.js";
import { hubNow, live } from "../kit/live.js";
import { devicesOf, indexOf, modelName, nodeName, ownNodes } from "../kit/model.js";
import { setPref } from "../kit/prefs.js";
import { firstFree, placesOf, release, room, save, setUsual, whereIs } from "./bookings.js";
import { openOver } from "./over.js";
import { isLocked, Who, whoUsually } from "./who.js";
import { say } from "./words.en.js";

/** @typedef {import("../kit/types").Draft} Draft */
/** @typedef {import("../kit/types").Bookings} Bookings */
/** @typedef {import("../kit/types").Problem} Problem */

const HOUR_MS = 3600000;
/** @type {[string, number][]} */
const SPANS = [[inUnit(1, 1), HOUR_MS], [inUnit(4, 1), 4 * HOUR_MS], [inUnit(8, 1), 8 * HOUR_MS], [inUnit(1, 0), 24 * HOUR_MS], [inUnit(2, 0), 48 * HOUR_MS], [say.oneWeek, 168 * HOUR_MS]];

/** As an input of this kind has it, in the reader's zone. @param {number} ms */
function localText(ms) {
    const d = new Date(ms);
    const two = (/** @type {number} */ v) => `${v}`.padStart(2, "0");
    return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}`;
}

/** @param {string} text */
const fromText = (text) => new Date(text).getTime();

/** @param {{ devices: string[], pick: (devices: string[]) => void }} props */
function Gpus({ devices, pick }) {
    const at = whereIs(devices[0]);
    const nodes = ownNodes(live.nodes);
    const first = at?.n ?? nodes.find((n) => devicesOf(n).length);
    const [id, setId] = useState(first?.id ?? "");
    const node = nodes.find((n) => n.id === id);
    /** @param {string} uuid */
    const flip = (uuid) => pick(devices.includes(uuid) ? devices.filter((d) => d !== uuid) : [...devices, uuid]);
    return html`<div class="gpus">
        ${nodes.length > 1
            ? html`<select aria-label=${say.node} value=${id} onChange=${(/** @type {any} */ e) => {
                setId(e.currentTarget.value);
                pick([]);
            }}>${nodes.map((n) => html`<option value=${n.id} selected=${n.id === id}>${nodeName(n)}</option>`)}</select>`
            : html`<span>${node && nodeName(node)}</span>`}
        ${node && devicesOf(node).map((d) => html`<label class="gpu ${d.state}" title="${modelName(d)}, ${stateName(d.state)}">
            <input type="checkbox" checked=${devices.includes(d.uuid)} onChange=${() => flip(d.uuid)} /> ${indexOf(d)} <span class="mark">${stateOf.get(d.state)?.mark}</span>
        </label>`)}
    </div>`;
}

/** @param {{ n: number, model: string, set: (n: number, model: string) => void }} props */
function AnyOf({ n, model, set }) {
    const models = [...new Set(ownNodes(live.nodes).flatMap((one) => devicesOf(one).map((d) => d.name)))].sort();
    return html`<div class="gpus">
        <input type="number" aria-label=${say.howMany} min="1" max="256" value=${n} onInput=${(/** @type {any} */ e) => set(Number(e.currentTarget.value), model)} /> ${say.of}
        <select aria-label=${say.model} value=${model} onChange=${(/** @type {any} */ e) => set(n, e.currentTarget.value)}>
            <option value="" selected=${!model}>${say.anyModel}</option>
            ${models.map((m) => html`<option value=${m} selected=${m === model}>${m}</option>`)}
        </select>
    </div>`;
}

/**
 * @param {{ draft: Draft, known: Bookings, close: (said?: string) => void }} props
 * known: what is booked from now on, and as whom one books
 */
function Form({ draft, known, close }) {
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    const [devices, setDevices] = useState(draft.devices);
    const [any, setAny] = useState(!draft.devices.length);
    const [wish, setWish] = useState({ n: 1, model: "" });
    const usual = firstFree(known.rows, draft.devices, draft.from ?? 0);
    const begun = draft.begun ?? false;
    const [from, setFrom] = useState(localText(draft.from ?? usual.from));
    const [until, setUntil] = useState(localText(draft.until ?? usual.until));
    const [soon, setSoon] = useState(draft.id === undefined && (draft.from ?? usual.from) <= hubNow() + 30000); /* from now on, whenever that is sent */
    const [comment, setComment] = useState(draft.comment ?? "");
    const [person, setPerson] = useState(draft.person ?? whoUsually(known));
    const [wrong, setWrong] = useState(draft.wrong ?? "");
    const [busy, setBusy] = useState(false);
    useLayoutEffect(() => {
        box.current?.showModal();
        const first = person ? "button.main" : "input[name=person], button.main";
        /** @type {NodeListOf<HTMLElement> | undefined} */
        const found = box.current?.querySelectorAll(first);
        found?.[0]?.focus();
    }, []);

    const edit = draft.id !== undefined;
    const nodes = new Set(devices.map((d) => whereIs(d)?.n.id));
    const choosable = !edit || (nodes.size === 1 && !nodes.has(undefined));
    const { hi } = room(known.rows, any ? [] : devices, fromText(from), draft.id);
    const locked = isLocked(known);

    /** @param {() => Promise<string>} act gives what was done, in words */
    async function attempt(act) {
        setBusy(true);
        try {
            close(await act());
        } catch (problem) {
            setWrong(/** @type {Problem} */ (problem).detail);
            setBusy(false);
        }
    }

    /** @param {Event} e */
    function onSubmit(e) {
        e.preventDefault();
        void attempt(async () => {
            const a = fromText(from);
            const b = fromText(until);
            /** @type {Record<string, unknown>} */
            const body = { until: b, comment: comment.trim() };
            if (!soon && !begun) body.from = a;
            if (!edit && person) body.person = person.trim();
            if (!edit && any) Object.assign(body, { count: wish.n }, wish.model && { model: wish.model });
            else if (choosable) body.devices = devices;
            const made = await save(body, draft.id);
            if (known.auth === "open" && !edit) setPref("person", person.trim());
            if (!edit) setUsual(b - (soon ? hubNow() : a));
            return say.done(edit, placesOf(made?.devices ?? devices), moment(b, hubNow()));
        });
    }

    if (draft.words) {
        return html`<dialog class="form book" ref=${box} onClose=${() => close()} aria-label=${say.booking}>
            <form method="dialog"><p>${draft.words}</p><p class="acts"><button class="main">${say.back}</button></p></form>
        </dialog>`;
    }
    const title = edit ? say.bookingOf(placesOf(devices)) : any ? say.bookGpus : say.bookThese(placesOf(devices));
    return html`<dialog class="form book" ref=${box} onClose=${() => close()} aria-labelledby="book-title">
        <form onSubmit=${onSubmit}>
            <h2 id="book-title">${title}</h2>
            ${!edit && html`<div class="range" role="group" aria-label=${say.which}>
                <button type="button" aria-pressed=${!any} onClick=${() => setAny(false)}>${say.these}</button>
                <button type="button" aria-pressed=${any} onClick=${() => setAny(true)}>${say.anyFree}</button>
            </div>`}
            ${any && !edit
                ? html`<${AnyOf} n=${wish.n} model=${wish.model} set=${(/** @type {number} */ n, /** @type {string} */ model) => setWish({ n, model })} />`
                : choosable && html`<${Gpus} devices=${devices} pick=${setDevices} />`}
            <div class="times">
                ${soon
                    ? html`<p>${say.from}<br /><span class="from-now">${say.now} <button type="button" onClick=${() => setSoon(false)}>${say.anotherTime}</button></span></p>`
                    : html`<label>${say.from} <input type="datetime-local" name="from" required disabled=${begun} value=${from} onInput=${(/** @type {any} */ e) => setFrom(e.currentTarget.value)} /></label>`}
                <label>${say.until} <input type="datetime-local" name="until" required value=${until} onInput=${(/** @type {any} */ e) => setUntil(e.currentTarget.value)} /></label>
            </div>
            <div class="range" role="group" aria-label=${say.howLong}>
                ${SPANS.map(([words, ms]) => html`<button type="button" onClick=${() => setUntil(localText((soon ? hubNow() : fromText(from)) + ms))}>${words}</button>`)}
                <span class="dim">${Number.isFinite(hi) && hi > fromText(from) ? say.freeUntil(span(hi - fromText(from)), moment(hi, hubNow())) : ""}</span>
            </div>
            ${!edit && html`<${Who} known=${known} person=${person} set=${setPerson} />`}
            <label><span>${say.whatFor} <span class="dim">${say.optional}</span></span> <input name="comment" maxlength="300" value=${comment} onInput=${(/** @type {any} */ e) => setComment(e.currentTarget.value)} /></label>
            ${wrong && html`<p class="error" role="alert">${wrong}</p>`}
            <p class="acts">
                <button class="main" disabled=${busy || locked || (!any && !edit && !devices.length)}>${edit ? say.save : say.bookMany(any ? wish.n || 0 : devices.length)}</button>
                ${edit && html`<button type="button" disabled=${busy} onClick=${() => attempt(async () => (await release(draft.id ?? 0), say.released(placesOf(devices))))}>${begun ? say.releaseNow : say.cancel}</button>`}
                <button type="button" onClick=${() => close()}>${say.back}</button>
            </p>
        </form>
    </dialog>`;
}

/** @param {Draft} draft */
export const openForm = (draft) => openOver((known, close) => html`<${Form} key=${`${draft.id} ${draft.devices} ${draft.from}`} draft=${draft} known=${known} close=${close} />`);
