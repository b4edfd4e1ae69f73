import * as z from "zod/mini";
import { v1 } from "./api.ts";
import { field, InputError, operation, type Operation } from "./operation.ts";
import { queue } from "./queues.ts";
import { whole } from "./whole.ts";
import {
  MAX_BATCH_MESSAGES,
  MAX_CONCURRENCY,
  MAX_DELAY_SECONDS,
  MAX_RETRIES,
  MAX_VISIBILITY_TIMEOUT_MS,
  MAX_WAIT_TIME_MS,
} from "../contract/queue-limits.ts";

/** Who gets the messages of a durable queue. */

const settings = {
  batchSize: field(z.optional(whole(1, MAX_BATCH_MESSAGES)), "messages a batch; 10 when absent"),
  maxRetries: field(z.optional(whole(0, MAX_RETRIES)), "deliveries after the first; 3 when absent"),
  retryDelaySeconds: field(z.optional(whole(0, MAX_DELAY_SECONDS)), "how long a retry waits, in s"),
  maxConcurrency: field(z.optional(whole(1, MAX_CONCURRENCY)), "batches at a time, not of a pull consumer"),
  maxWaitMs: field(
    z.optional(whole(0, MAX_WAIT_TIME_MS)),
    "how long a batch waits to become full, in ms, not of a pull consumer",
  ),
  visibilityTimeoutMs: field(
    z.optional(whole(1, MAX_VISIBILITY_TIMEOUT_MS)),
    "how long a pulled message is leased, in ms, of a pull consumer",
  ),
};

export const consumerOperations: Operation[] = [
  operation({
    name: "queue consumers",
    summary: "List the consumers of a queue.",
    input: { queue },
    args: ["queue"],
    run: (api, input) => api.get(v1`queues/${input.queue}/consumers`),
  }),
  operation({
    name: "queue consume",
    summary: "Give a queue a consumer: a Worker, an HTTP endpoint, or whoever pulls: exactly one of the three.",
    input: {
      queue,
      worker: field(z.optional(z.string()), "the name of a Worker that is bound to the broker"),
      endpoint: field(z.optional(z.string()), "the URL that batches are posted to"),
      secret: field(z.optional(z.string()), "what batches to the endpoint are signed with"),
      pull: field(z.optional(z.boolean()), "a pull consumer"),
      name: field(z.optional(z.string()), "its name, where a queue has several"),
      deadLetterQueue: field(z.optional(z.string()), "where messages go that are given up"),
      ...settings,
    },
    args: ["queue"],
    run: (api, { queue: id, ...given }) => api.post(v1`queues/${id}/consumers`, consumerBody(given)),
  }),
  operation({
    name: "queue unconsume",
    summary: "Take a consumer away from a queue. What it has not settled stays for the others.",
    input: { queue, consumer: field(z.string(), "the consumer's id") },
    args: ["queue", "consumer"],
    isDestructive: true,
    run: (api, input) => api.delete(v1`queues/${input.queue}/consumers/${input.consumer}`),
  }),
];

interface Given {
  worker?: string | undefined;
  endpoint?: string | undefined;
  secret?: string | undefined;
  pull?: boolean | undefined;
  name?: string | undefined;
  deadLetterQueue?: string | undefined;
  batchSize?: number | undefined;
  maxRetries?: number | undefined;
  retryDelaySeconds?: number | undefined;
  maxConcurrency?: number | undefined;
  maxWaitMs?: number | undefined;
  visibilityTimeoutMs?: number | undefined;
}

/** What does not belong to the kind of consumer is sent along, so that the broker refuses it by its name. */
function consumerBody(given: Given): unknown {
  return {
    ...kindOf(given),
    secret: given.secret,
    name: given.name,
    dead_letter_queue: given.deadLetterQueue,
    settings: {
      batch_size: given.batchSize,
      max_retries: given.maxRetries,
      retry_delay: given.retryDelaySeconds,
      max_concurrency: given.maxConcurrency,
      max_wait_time_ms: given.maxWaitMs,
      visibility_timeout_ms: given.visibilityTimeoutMs,
    },
  };
}

function kindOf({ worker, endpoint, pull }: Given): Record<string, unknown> {
  const kinds = [
    worker !== undefined && { type: "worker", script_name: worker },
    endpoint !== undefined && { type: "http", url: endpoint },
    pull === true && { type: "http_pull" },
  ].filter((kind) => kind !== false);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) throw new InputError("give exactly one of worker, endpoint and pull");
  return kind;
}
