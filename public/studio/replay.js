import { path } from "./api.js";

/** @import { Peeked } from "./peek.js" */
/** @import { Studio } from "./main.js" */

/** The place before everything. */
const START = "start";
/** How many dead letters are read at once. */
const BATCH = 100;
/** What one import carries stays below this, whatever the bodies are. */
const MAX_BODY_CHARS = 256_000;

/**
 * Sends dead letters back to where they come from, and removes them here once they are stored there. They keep their ids;
 * their attempts begin anew. A replay that breaks off between the two is repeated by the next one.
 *
 * @param {Studio} studio
 * @param {string} queue
 * @returns {Promise<{ moved: number, left: number }>} How many went, and how many stay: leased ones and those of no origin.
 */
export async function replay(studio, queue) {
  const source = `replay-${crypto.randomUUID()}`;
  let [moved, left] = [0, 0];
  for (let after = START; ;) {
    /** @type {{ messages: Peeked[], after: string }} */
    const run = await studio.call("POST", path`/api/v1/queues/${queue}/messages/peek`, { batch_size: BATCH, after });
    if (run.messages.length === 0) return { moved, left };
    const movable = run.messages.filter(
      ({ state, metadata }) => state === "ready" && isForeign(metadata.origin, queue),
    );
    left += run.messages.length - movable.length;
    for (const batch of batches(movable)) {
      await move(studio, { queue, source, from: moved }, batch);
      moved += batch.length;
    }
    after = run.after;
  }
}

/**
 * @param {Peeked["metadata"]["origin"]} origin
 * @param {string} queue
 */
function isForeign(origin, queue) {
  return origin !== undefined && origin.source_queue !== queue;
}

/**
 * @param {Studio} studio
 * @param {{ queue: string, source: string, from: number }} run
 * @param {readonly Peeked[]} batch All of one origin.
 */
async function move(studio, { queue, source, from }, batch) {
  const messages = batch.map(({ id, body, timestamp_ms, metadata }, index) => ({
    number: from + index + 1,
    id,
    body,
    timestamp_ms,
    content_type: metadata["CF-Content-Type"],
  }));
  const target = batch[0]?.metadata.origin?.source_queue ?? "";
  await studio.call("POST", path`/api/v1/queues/${target}/import`, { source, partition: "Default", messages });
  await studio.call("POST", path`/api/v1/queues/${queue}/messages/purge`, { refs: batch.map(({ ref }) => ({ ref })) });
}

/**
 * Letters of one origin each, and not too many bytes together.
 *
 * @param {readonly Peeked[]} letters
 */
function batches(letters) {
  /** @type {Peeked[][]} */
  const cut = [];
  for (const own of Map.groupBy(letters, ({ metadata }) => metadata.origin?.source_queue).values()) {
    let room = -1;
    for (const letter of own) {
      if (letter.body.length > room) {
        cut.push([]);
        room = MAX_BODY_CHARS;
      }
      cut.at(-1)?.push(letter);
      room -= letter.body.length;
    }
  }
  return cut;
}
