import * as z from "zod/mini";
import { DEFAULT_PARTITION } from "../contract/limits.ts";
import { MAX_BATCH_MESSAGES } from "../contract/queue-limits.ts";
import { v1, type Api } from "./api.ts";
import { batchesByBody } from "./batches.ts";
import { field, InputError, operation, type Operation } from "./operation.ts";
import { whole } from "./whole.ts";

/** Giving dead letters another chance. */

interface Run {
  messages: DeadLetter[];
  after: string;
}

/** A message as a peek shows it; `body` is a text, or base64 of what is stored. */
interface DeadLetter {
  id: string;
  ref: string;
  state: "ready" | "delayed" | "leased";
  timestamp_ms: number;
  body: string;
  metadata: { "CF-Content-Type": "json" | "text" | "bytes" | "v8"; origin?: { source_queue: string } };
}

/** What one import may carry stays below this, whatever the bodies are. */
const MAX_BODY_CHARS = 256_000;

export const replayOperation: Operation = operation({
  name: "queue dlq replay",
  summary: "Send dead letters back to where they come from, and remove them here once they are stored there.",
  input: {
    queue: field(z.string(), "the dead-letter queue"),
    to: field(z.optional(z.string()), "send all of them here instead, those of unknown origin included"),
    limit: field(z._default(whole(1, 1_000_000), 1_000_000), "how many at the most"),
  },
  args: ["queue"],
  run: replay,
});

interface Input {
  queue: string;
  to?: string | undefined;
  limit: number;
}

/**
 * Messages keep their ids, and their attempts begin anew. A replay that is broken off between a store and the removal is
 * repeated by the next one, which is no more than delivery at least once allows for.
 */
async function replay(api: Api, { queue, to, limit }: Input) {
  const source = `replay-${crypto.randomUUID()}`;
  const replayed: Record<string, number> = {};
  let moved = 0;
  let skipped = 0;
  for (let after: string | null = "start"; after !== null && moved < limit;) {
    const run: Run = await look(api, queue, after);
    const movable = run.messages.filter((letter) => letter.state === "ready" && targetOf(letter, to) !== undefined);
    const some = movable.slice(0, limit - moved);
    for (const target of new Set(some.map((letter) => targetOf(letter, to) ?? ""))) {
      const letters = some.filter((letter) => targetOf(letter, to) === target);
      if (target === queue) throw new InputError(`${JSON.stringify(queue)} cannot be replayed into itself`);
      for (const batch of batchesByBody(letters, MAX_BODY_CHARS)) {
        await move(api, { source, queue, target, from: moved }, batch);
        moved += batch.length;
      }
      replayed[target] = (replayed[target] ?? 0) + letters.length;
    }
    skipped += run.messages.length - movable.length;
    after = run.messages.length === 0 ? null : run.after;
  }
  return { replayed, skipped };
}

function look(api: Api, queue: string, after: string): Promise<Run> {
  return api.post(v1`queues/${queue}/messages/peek`, { batch_size: MAX_BATCH_MESSAGES, after });
}

interface Move {
  source: string;
  queue: string;
  target: string;
  /** How many have gone before. */
  from: number;
}

async function move(api: Api, { source, queue, target, from }: Move, batch: readonly DeadLetter[]): Promise<void> {
  const messages = batch.map((letter, i) => ({ number: from + i + 1, ...importShape(letter) }));
  await api.post(v1`queues/${target}/import`, { source, partition: DEFAULT_PARTITION, messages });
  await api.post(v1`queues/${queue}/messages/purge`, { refs: batch.map(({ ref }) => ({ ref })) });
}

function targetOf({ metadata }: DeadLetter, to: string | undefined): string | undefined {
  return to ?? metadata.origin?.source_queue;
}

function importShape({ id, body, timestamp_ms, metadata }: DeadLetter) {
  return { id, body, timestamp_ms, content_type: metadata["CF-Content-Type"] };
}
