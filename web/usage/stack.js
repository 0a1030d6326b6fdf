/* stack.js: a chart of stacked bars: a bar is a period, its parts are who had how much of it. */
import { useId } from "preact/hooks";
import { html } from "../kit/html.js";
import { locale } from "../kit/language.js";
import { say } from "./words.en.js";

/** @typedef {{ name: string, colour: string, v: number[] }} Part one value per bar */

const HEIGHT = 160;
const TICKS = 4;
const HATCH_PX = 6;

/** A round number so that TICKS of it reach most. @param {number} most */
function roundStep(most) {
    const raw = Math.max(most, 1e-9) / TICKS;
    const ten = 10 ** Math.floor(Math.log10(raw));
    return ([1, 2, 5, 10].find((m) => m * ten >= raw) ?? 10) * ten;
}

/**
 * pick: a bar was chosen. write: a value with its unit; unit: over the axis. partial: bars of periods with records of some of their time only, which are hatched.
 * @param {{ title: string, unit: string, labels: string[], parts: Part[], partial?: boolean[], write: (v: number) => string, width: number, pick?: (i: number) => void }} props
 */
export function Stack({ title, unit, labels, parts, partial = [], write, width, pick }) {
    const hatch = useId();
    const totals = labels.map((_, i) => parts.reduce((t, p) => t + p.v[i], 0));
    const step = roundStep(Math.max(0, ...totals));
    const top = Math.max(step, Math.ceil(Math.max(0, ...totals) / step) * step);
    const n = Math.max(1, labels.length);
    const y = (/** @type {number} */ v) => HEIGHT - (HEIGHT * v) / top;
    const every = Math.max(1, Math.ceil((n * 64) / Math.max(width, 64)));
    const places = step >= 1 ? 0 : Math.min(3, Math.ceil(-Math.log10(step)));
    const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, i) => i * step);
    return html`<figure class="stack" role="img" aria-label="${title}: ${labels.length ? say.bars(labels.length, write(Math.max(...totals))) : say.nothing}">
        <div class="stack-y" aria-hidden="true">${ticks.map((v) => html`<span style=${{ bottom: `${(100 * v) / top}%` }}>${v.toLocaleString(locale, { maximumFractionDigits: places })}${v === ticks.at(-1) ? ` ${unit}` : ""}</span>`)}</div>
        <div class="stack-plot" aria-hidden="true">
            <svg viewBox="0 0 ${n} ${HEIGHT}" preserveAspectRatio="none">
                ${partial.some(Boolean) && html`<defs><pattern id=${hatch} patternUnits="userSpaceOnUse" width=${(HATCH_PX * n) / Math.max(width, 64)} height=${HATCH_PX}><path class="hatch" d=${`M0 ${HATCH_PX} L${(HATCH_PX * n) / Math.max(width, 64)} 0`} /></pattern></defs>`}
                ${ticks.map((v) => html`<line x1="0" x2=${n} y1=${y(v)} y2=${y(v)} />`)}
                ${labels.map((label, i) => {
                    let at = 0;
                    return html`<g key=${label} class=${pick ? "pick" : ""} onClick=${pick && (() => pick(i))}>
                        <rect class="whole" x=${i} y="0" width="1" height=${HEIGHT}><title>${label}: ${write(totals[i])}</title></rect>
                        ${parts.map((p) => {
                            if (!p.v[i]) return null;
                            at += p.v[i];
                            return html`<rect x=${i + 0.1} width="0.8" y=${y(at)} height=${y(at - p.v[i]) - y(at)} style=${{ fill: `var(--${p.colour})` }}><title>${label}, ${p.name}: ${write(p.v[i])}</title></rect>`;
                        })}
                        ${partial[i] && totals[i] > 0 && html`<rect class="partial" x=${i + 0.1} width="0.8" y=${y(totals[i])} height=${HEIGHT - y(totals[i])} style=${{ fill: `url(#${hatch})` }}><title>${say.inPart(`${label}: ${write(totals[i])}`)}</title></rect>`}
                    </g>`;
                })}
            </svg>
            <div class="stack-x">${labels.map((label, i) => (i % every ? null : html`<span style=${{ left: `${(100 * i) / n}%` }}>${label}</span>`))}</div>
        </div>
    </figure>`;
}
