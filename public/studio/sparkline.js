import { setAttribute } from "./dom.js";
import { REACH_MS } from "./history.js";

/** @typedef {{ at: number, value: number }} Point */

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 120;

/** A line over the last two minutes. What it shows stands beside it as a figure, too. */
export class Sparkline {
  element = document.createElementNS(SVG, "svg");
  #height;
  #lines;
  #area;

  /**
   * @param {readonly string[]} kinds The class of each line; the first is filled.
   * @param {number} [height]
   */
  constructor(kinds, height = 28) {
    this.#height = height;
    this.element.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
    this.element.setAttribute("preserveAspectRatio", "none");
    this.element.setAttribute("role", "img");
    this.element.setAttribute("class", "spark");
    this.#area = part("path", `area ${kinds[0]}`);
    this.#lines = kinds.map((kind) => part("path", `line ${kind}`));
    this.element.append(this.#area, ...this.#lines);
  }

  /**
   * @param {number} now
   * @param {readonly Point[][]} lines
   * @param {string} label
   */
  update(now, lines, label) {
    const most = Math.max(1, ...lines.flat().map(({ value }) => value));
    const x = (/** @type {number} */ at) => round(WIDTH * (1 - (now - at) / REACH_MS));
    const y = (/** @type {number} */ value) => round(this.#height - 2 - (value / most) * (this.#height - 4));
    for (const [index, points] of lines.entries()) {
      const line = points.map(({ at, value }) => `${x(at)},${y(value)}`).join("L");
      this.#lines[index]?.setAttribute("d", line === "" ? "" : `M${line}`);
      const first = points[0];
      const last = points.at(-1);
      if (index > 0 || first === undefined || last === undefined) continue;
      this.#area.setAttribute("d", `M${line}L${x(last.at)},${this.#height}L${x(first.at)},${this.#height}Z`);
    }
    setAttribute(this.element, "aria-label", label);
  }
}

/**
 * @param {string} name
 * @param {string} kind
 */
function part(name, kind) {
  const element = document.createElementNS(SVG, name);
  element.setAttribute("class", kind);
  element.setAttribute("vector-effect", "non-scaling-stroke");
  return element;
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}
