import { path } from "./api.js";
import { ask } from "./dialogs.js";
import { plural } from "./format.js";
import { replay } from "./replay.js";

/** @import { Studio } from "./main.js" */

/**
 * @param {Studio} studio
 * @param {string} queue
 */
export function purge(studio, queue) {
  return ask({
    title: `Purge ${queue}`,
    text: "Every message of this queue is removed, in all of its partitions, and none comes back.",
    button: "Purge",
    typed: queue,
    run: async () => {
      await studio.call("POST", path`/api/v1/queues/${queue}/purge`, { delete_messages_permanently: true });
      studio.done(`${queue} is purged.`);
    },
  });
}

/**
 * @param {Studio} studio
 * @param {string} queue
 */
export function pause(studio, queue) {
  return ask({
    title: `Pause ${queue}`,
    text: "Nothing is delivered or pulled until it is resumed. Producers go on sending.",
    button: "Pause",
    run: () => setPaused(studio, queue, true),
  });
}

/**
 * @param {Studio} studio
 * @param {string} queue
 */
export function resume(studio, queue) {
  return ask({
    title: `Resume ${queue}`,
    text: "What has waited is delivered at once.",
    button: "Resume",
    run: () => setPaused(studio, queue, false),
  });
}

/**
 * @param {Studio} studio
 * @param {string} queue
 * @param {boolean} isPaused
 */
async function setPaused(studio, queue, isPaused) {
  await studio.call("PATCH", path`/api/v1/queues/${queue}`, { settings: { delivery_paused: isPaused } });
  studio.done(`${queue} is ${isPaused ? "paused" : "resumed"}.`);
}

/**
 * @param {Studio} studio
 * @param {string} queue
 */
export function replayDeadLetters(studio, queue) {
  return ask({
    title: `Replay ${queue}`,
    text: "Each dead letter goes back to the queue that gave it up, and leaves this one once it is stored there. What has no origin stays.",
    button: "Replay",
    run: async () => {
      const { moved, left } = await replay(studio, queue);
      studio.done(`${plural(moved, "dead letter")} replayed${left === 0 ? "" : `, ${left} left where they are`}.`);
    },
  });
}
