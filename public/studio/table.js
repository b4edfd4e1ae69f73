import { h, KeyedList, setFigure } from "./dom.js";

/**
 * @template T
 * @typedef {object} Column
 * @property {string} name
 * @property {boolean} [isFigure]
 * @property {string} [about] What the name leaves open.
 * @property {(item: T) => string | number} [text]
 * @property {() => { element: Element, update(item: T): void }} [make] For more than a text.
 */

/**
 * A table whose rows stay as long as their items do. On a narrow screen each row is a card; the roles are said once more,
 * since a table that is laid out otherwise is none for a screen reader.
 *
 * @template T
 */
export class Table {
  element;
  #rows;

  /**
   * @param {string} label
   * @param {readonly Column<T>[]} columns The first one heads its row.
   * @param {(item: T) => string} keyOf
   */
  constructor(label, columns, keyOf) {
    const head = h(
      "tr",
      { role: "row" },
      ...columns.map(({ name, isFigure, about }) =>
        h("th", {
          role: "columnheader",
          scope: "col",
          class: isFigure ? "figure" : "",
          title: about,
          textContent: name,
        }),
      ),
    );
    const body = h("tbody", { role: "rowgroup" });
    this.element = h("table", { role: "table", "aria-label": label }, h("thead", { role: "rowgroup" }, head), body);
    this.#rows = new KeyedList(body, keyOf, () => rowOf(columns));
  }

  /** @param {readonly T[]} items */
  update(items) {
    this.#rows.update(items);
  }
}

/**
 * @template T
 * @param {readonly Column<T>[]} columns
 */
function rowOf(columns) {
  const element = h("tr", { role: "row" });
  /** @type {((item: T) => void)[]} */
  const updates = [];
  for (const [index, { name, isFigure, text, make }] of columns.entries()) {
    const properties = { class: isFigure ? "figure" : "", "data-name": name };
    const cell =
      index === 0
        ? h("th", { role: "rowheader", scope: "row", ...properties })
        : h("td", { role: "cell", ...properties });
    element.append(cell);
    if (make !== undefined) {
      const part = make();
      cell.append(part.element);
      updates.push((item) => part.update(item));
    } else if (text !== undefined) {
      const value = h("span");
      cell.append(value);
      updates.push((item) => setFigure(value, text(item)));
    }
  }
  return {
    element,
    /** @param {T} item */
    update(item) {
      for (const update of updates) update(item);
    },
  };
}
