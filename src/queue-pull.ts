import { DEFAULT_PARTITION } from "./contract/limits.ts";
import { QueueError, unwrapQueue } from "./contract/queue-errors.ts";
import type { PulledMessage } from "./durable/message.ts";
import type { QueueObjects } from "./queue-objects.ts";

/** How long a waiting pull waits before it looks for partitions that are new. */
const SLICE_MS = 10_000;
/** Between two tries of a waiting pull when an object cannot be reached. */
const RETRY_MS = 500;

export interface PullRequest {
  /** Which of several pull consumers; null = the only one. */
  consumer: string | null;
  limit: number;
  /** null = as the consumer says. */
  visibilityTimeoutMs: number | null;
  waitMs: number;
}

/** Where rotations over partitions begin; one more for every pull, so that no partition starves another. */
let turn = 0;

/** Leases messages to a pull client; waits for the first when there is none. `signal` ends the waiting. */
export async function pull(
  objects: QueueObjects,
  queue: string,
  request: PullRequest,
  signal?: AbortSignal,
): Promise<PulledMessage[]> {
  const until = Date.now() + request.waitMs;
  for (;;) {
    const resolved = await objects.resolve(queue);
    // Of as many as can be asked what they hold afterwards, too.
    const partitions = rotated(resolved.partitions).slice(0, Math.floor((objects.callsLeft - 1) / 2));
    const { messages, failure } = await pullOnce(objects, resolved.queueId, partitions, request);
    if (messages.length > 0) return messages;
    const leftMs = until - Date.now();
    const isOver = leftMs <= 0 || signal?.aborted === true || objects.callsLeft <= roundOf(partitions);
    if (failure !== null && (isOver || !failure.retryable || failure.code === 10252)) throw failure;
    if (isOver) return [];
    if (failure !== null) await scheduler.wait(Math.min(leftMs, RETRY_MS));
    else await ready(objects, resolved.queueId, partitions, request.consumer, Math.min(leftMs, SLICE_MS));
  }
}

/** What was leased before a partition failed counts: nobody else gets it while its lease runs. */
async function pullOnce(
  objects: QueueObjects,
  queueId: string,
  partitions: readonly string[],
  { consumer, limit, visibilityTimeoutMs }: PullRequest,
): Promise<{ messages: PulledMessage[]; failure: QueueError | null }> {
  const messages: PulledMessage[] = [];
  let failure: QueueError | null = null;
  for (const partition of partitions) {
    if (messages.length >= limit) break;
    try {
      const pulled = objects.of(queueId, partition).pull(consumer, limit - messages.length, visibilityTimeoutMs);
      messages.push(...unwrapQueue(await objects.ask(pulled)));
    } catch (error) {
      if (!(error instanceof QueueError)) throw error;
      failure = error;
    }
  }
  return { messages, failure };
}

/** Waits until any partition has something, or an object has anything else to say that the next pull will hear. */
async function ready(
  objects: QueueObjects,
  queueId: string,
  partitions: readonly string[],
  consumer: string | null,
  waitMs: number,
): Promise<void> {
  const waits = partitions.map(async (partition) => {
    const isReady = await objects.ask(objects.of(queueId, partition).whenReady(consumer, waitMs));
    if (isReady === false) throw new Error("nothing came");
  });
  await Promise.any(waits).catch(() => {});
}

/** The calls of one more round of a waiting pull, and of looking at the backlog after it. */
function roundOf({ length }: readonly string[]): number {
  return 3 * length + 2;
}

/** Every partition, each time beginning with another. The default one counts before anything was sent to it. */
function rotated(partitions: readonly string[]): string[] {
  const all = partitions.includes(DEFAULT_PARTITION) ? partitions : [DEFAULT_PARTITION, ...partitions];
  const from = turn++ % all.length;
  return [...all.slice(from), ...all.slice(0, from)];
}
