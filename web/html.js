/* html.js: preact and htm under one name. Values in a template become text or properties, never markup. */
import { Component, h } from "preact";
import htm from "htm";

export const html = htm.bind(h);

/** A component that is made anew only when its key changes. @template P @param {(props: P) => any} render @param {(props: P) => unknown} key */
export function keyed(render, key) {
    return class extends Component {
        /** @param {any} next */
        shouldComponentUpdate(next) {
            return key(next) !== key(/** @type {any} */ (this.props));
        }
        render() {
            return render(/** @type {any} */ (this.props));
        }
    };
}
