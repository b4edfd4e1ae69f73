/** @typedef {Node | string | number | null | false} Child */

/**
 * Makes an element. A property is set as it is, `on…` as a listener, and what has a hyphen (or is `role` or `class`) as an
 * attribute. Data becomes text and never markup.
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, unknown>} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name.includes("-") || name === "role" || name === "class" || name === "for")
      setAttribute(element, name, value);
    else Reflect.set(element, name, value);
  }
  element.append(...childrenOf(children));
  return element;
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {unknown} value
 */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/**
 * Sets a text, and leaves a node alone that has it already: what is selected stays selected.
 *
 * @param {Element} element
 * @param {string | number} text
 */
export function setText(element, text) {
  if (element.textContent !== String(text)) element.textContent = String(text);
}

/** How nothing is written. */
const NOTHING = /^(–|0( B|\/s)?)$/;

/**
 * Sets a figure; one of nothing steps back behind the others.
 *
 * @param {Element} element
 * @param {string | number} text
 */
export function setFigure(element, text) {
  setText(element, text);
  element.classList.toggle("nothing", NOTHING.test(String(text)));
}

/**
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...childrenOf(children));
}

/**
 * @param {readonly Child[]} children
 * @returns {(Node | string)[]}
 */
function childrenOf(children) {
  return children
    .filter((child) => child !== null && child !== false)
    .map((child) => (typeof child === "number" ? String(child) : child));
}

/**
 * Shows each item of a list by an element of its own, which stays as long as the item does: focus and selection outlive
 * what changes around them.
 *
 * @template T
 * @typedef {{ element: HTMLElement, update(item: T): void }} Shown
 */

/**
 * @template T
 */
export class KeyedList {
  #parent;
  #keyOf;
  #make;
  /** @type {Map<string, Shown<T>>} */
  #shown = new Map();

  /**
   * @param {HTMLElement} parent
   * @param {(item: T) => string} keyOf
   * @param {(item: T) => Shown<T>} make
   */
  constructor(parent, keyOf, make) {
    this.#parent = parent;
    this.#keyOf = keyOf;
    this.#make = make;
  }

  /** @param {readonly T[]} items */
  update(items) {
    const keys = new Set(items.map(this.#keyOf));
    for (const [key, { element }] of this.#shown) {
      if (keys.has(key)) continue;
      element.remove();
      this.#shown.delete(key);
    }
    for (const [index, item] of items.entries()) {
      const shown = this.#shown.get(this.#keyOf(item)) ?? this.#make(item);
      this.#shown.set(this.#keyOf(item), shown);
      shown.update(item);
      const there = this.#parent.children[index] ?? null;
      if (there !== shown.element) this.#parent.insertBefore(shown.element, there);
    }
  }
}
