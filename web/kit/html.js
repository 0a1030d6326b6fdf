/* html.js: preact and htm under one name. Values in a template become text or properties, never markup. */
import { Component, h } from "preact";
import htm from "htm";

/** htm would keep elements without values for ever, each with the tree it was last part of: that tree's nodes with it. */
/** @this {number[]} @param {any} type @param {any} props @param {any[]} children */
function element(type, props, ...children) {
    this[0] = 3; /* htm's word for: changes, do not keep */
    return h(type, props, ...children);
}
export const html = htm.bind(/** @type {any} */ (element));

/** A component that is made anew only when its key changes. @template P @param {(props: P) => any} render @param {(props: P) => unknown} key */
export function keyed(render, key) {
    return class extends Component {
        /** What is on the screen: a key may go with the time, too. @type {unknown} */
        shown = undefined;
        /** @param {any} next */
        shouldComponentUpdate(next) {
            return key(next) !== this.shown;
        }
        render() {
            this.shown = key(/** @type {any} */ (this.props));
            return render(/** @type {any} */ (this.props));
        }
    };
}
