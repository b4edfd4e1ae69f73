import { h, setText } from "./dom.js";
import { count, rate } from "./format.js";
import { Sparkline } from "./sparkline.js";

/** @import { QueueHistory } from "./history.js" */

const HEIGHT = 72;

/** Depth and rates of one queue over the last two minutes. */
export class Charts {
  #depth = new Sparkline(["depth"], HEIGHT);
  #rates = new Sparkline(["came", "left"], HEIGHT);
  #depthNow = h("figcaption");
  #ratesNow = h("figcaption");
  element = h(
    "div",
    { class: "charts" },
    h("figure", {}, this.#depthNow, this.#depth.element),
    h("figure", {}, this.#ratesNow, this.#rates.element),
  );
  #held = h("span", { class: "depth" });
  #range = h("span");
  #came = h("span", { class: "came" });
  #left = h("span", { class: "left" });

  constructor() {
    this.#depthNow.append(this.#held, this.#range);
    this.#ratesNow.append(this.#came, " ", this.#left, " in the last 2 minutes");
  }

  /**
   * @param {number} now
   * @param {QueueHistory} history
   */
  update(now, history) {
    const depths = history.depths(now);
    const values = depths.map(({ value }) => value);
    const [least, most] = [Math.min(...values), Math.max(...values)].map(count);
    setText(this.#held, `depth ${count(values.at(-1) ?? 0)}`);
    setText(this.#range, ` ${least} to ${most} in the last 2 minutes`);
    this.#depth.update(now, [depths], `Depth between ${least} and ${most}`);
    const { came, left } = history.ratesAt(now);
    setText(this.#came, `in ${rate(came)}`);
    setText(this.#left, `out ${rate(left)}`);
    const lines = [history.rates(now, "came"), history.rates(now, "left")];
    this.#rates.update(now, lines, `Rates, now in ${rate(came)} and out ${rate(left)}`);
  }
}
