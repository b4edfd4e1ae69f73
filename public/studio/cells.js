import { fill, h, setAttribute, setFigure, setText } from "./dom.js";
import { count, rate } from "./format.js";
import { Sparkline } from "./sparkline.js";

/** @import { QueueHistory, Rates } from "./history.js" */
/** @import { Studio } from "./main.js" */

/**
 * A queue's name, which leads to it, and what there is to say of it.
 *
 * @template {{ queue: string }} T
 * @param {"durable" | "ephemeral"} kind
 * @param {(queue: T) => [text: string, kind: string][]} notesOf
 */
export function linkCell(kind, notesOf) {
  const link = h("a", { class: "name" });
  const notes = h("span", { class: "notes" });
  return {
    element: h("span", {}, link, " ", notes),
    /** @param {T} queue */
    update(queue) {
      setText(link, queue.queue);
      setAttribute(link, "href", `#/${kind}/${encodeURIComponent(queue.queue)}`);
      showNotes(notes, notesOf(queue));
    },
  };
}

/**
 * @param {Element} element
 * @param {readonly [text: string, kind: string][]} notes
 */
export function showNotes(element, notes) {
  if (element.textContent === notes.map(([text]) => text).join("")) return;
  fill(element, ...notes.map(([text, kind]) => h("span", { class: `note ${kind}`, textContent: text })));
}

/**
 * @template T
 * @param {Studio} studio
 * @param {(queue: T) => QueueHistory} historyOf
 */
export function chartCell(studio, historyOf) {
  const chart = new Sparkline(["depth"]);
  return {
    element: chart.element,
    /** @param {T} queue */
    update(queue) {
      const points = historyOf(queue).depths(studio.now);
      const values = points.map(({ value }) => value);
      const [least, most] = [Math.min(...values), Math.max(...values)];
      chart.update(studio.now, [points], `Depth between ${count(least)} and ${count(most)}`);
    },
  };
}

/**
 * @template T
 * @param {Studio} studio
 * @param {(queue: T) => QueueHistory} historyOf
 * @param {keyof Rates} which
 */
export function rateCell(studio, historyOf, which) {
  const element = h("span");
  return {
    element,
    /** @param {T} queue */
    update(queue) {
      setFigure(element, rate(historyOf(queue).ratesAt(studio.now)[which]));
    },
  };
}
