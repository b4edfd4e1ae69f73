import { h, KeyedList, setText } from "./dom.js";

/** @typedef {[name: string, value: string]} Fact */

/** Figures with their names. */
export class Facts {
  element = h("dl", { class: "facts-list" });
  /** @type {KeyedList<Fact>} */
  #list = new KeyedList(this.element, ([name]) => name, factOf);

  /** @param {readonly Fact[]} facts */
  update(facts) {
    this.#list.update(facts);
  }
}

function factOf() {
  const [name, value] = [h("dt"), h("dd")];
  return {
    element: h("div", {}, name, value),
    /** @param {Fact} fact */
    update([term, text]) {
      setText(name, term);
      setText(value, text);
    },
  };
}
