import * as z from "zod/mini";
import {
  DEFAULT_PAGE_BYTES,
  DEFAULT_PULL_MESSAGES,
  DEFAULT_RETENTION_SECONDS,
  MAX_ATTEMPTS,
  MAX_BATCH_MESSAGES,
  MAX_DELAY_SECONDS,
  MAX_PAGE_BYTES,
  MAX_PULL_WAIT_MS,
  MAX_RETENTION_SECONDS,
  MAX_TIME_MS,
  MAX_VISIBILITY_TIMEOUT_MS,
  MIN_RETENTION_SECONDS,
} from "./queue-limits.ts";
import type { QueueSettings } from "./queue-config.ts";
import { label, queueName } from "./queue-names.ts";
import { must, whole } from "./queue-parse.ts";

/** The bodies of the routes of durable queues; section 3 of their contract. Every list of keys is closed. */

const queueSettings = z.strictObject({
  delivery_delay: z.optional(whole(0, MAX_DELAY_SECONDS)),
  delivery_paused: z.optional(z.boolean()),
  message_retention_period: z.optional(whole(MIN_RETENTION_SECONDS, MAX_RETENTION_SECONDS)),
});

export const createQueueBody = z.strictObject({ queue_name: queueName, settings: z.optional(queueSettings) });

/** What is not given stays as it is, or returns to its default: the method says which. */
export const changeQueueBody = z.strictObject({
  queue_name: z.optional(queueName),
  settings: z.optional(queueSettings),
});

export const DEFAULT_SETTINGS: QueueSettings = {
  deliveryDelaySeconds: 0,
  deliveryPaused: false,
  retentionSeconds: DEFAULT_RETENTION_SECONDS,
};

/** The settings that were given. */
export function settingsOf(given: z.infer<typeof queueSettings> = {}): Partial<QueueSettings> {
  const { delivery_delay, delivery_paused, message_retention_period } = given;
  return {
    ...(delivery_delay === undefined ? {} : { deliveryDelaySeconds: delivery_delay }),
    ...(delivery_paused === undefined ? {} : { deliveryPaused: delivery_paused }),
    ...(message_retention_period === undefined ? {} : { retentionSeconds: message_retention_period }),
  };
}

/** A message to send. Its own fields are checked where it is packed, by the rules that bindings follow as well. */
export const message = { body: z.unknown(), content_type: z.unknown(), delay_seconds: z.unknown() };
const partition = z.nullish(label);

export const pushBody = z.partial(z.strictObject({ ...message, partition }));
export const pushBatchBody = z.strictObject({
  messages: z.array(z.partial(z.strictObject(message))),
  delay_seconds: z.optional(message.delay_seconds),
  partition,
});

export const pullBody = z.strictObject({
  batch_size: z._default(whole(1, MAX_BATCH_MESSAGES), DEFAULT_PULL_MESSAGES),
  visibility_timeout_ms: z.optional(whole(1, MAX_VISIBILITY_TIMEOUT_MS)),
  wait_ms: z._default(whole(0, MAX_PULL_WAIT_MS), 0),
  consumer: z.optional(label),
});

const lease = z.string();
export const ackBody = z.strictObject({
  acks: z._default(z.array(z.strictObject({ lease_id: lease })), []),
  retries: z._default(
    z.array(z.strictObject({ lease_id: lease, delay_seconds: z.optional(message.delay_seconds) })),
    [],
  ),
});

export const peekBody = z.strictObject({
  batch_size: z._default(whole(1, MAX_BATCH_MESSAGES), DEFAULT_PULL_MESSAGES),
  /** Only what became ready after this place: `start`, `end`, or what an earlier peek answered. */
  after: z.optional(z.string()),
});

/** Printable, and short enough for every place where ids are kept. */
const messageId = must<string>(
  (value) => typeof value === "string" && /^[!-~]{1,64}$/.test(value),
  "an id of 1 to 64 printable ASCII characters",
);
const source = must<string>(
  (value) => typeof value === "string" && /^[!-~]{1,64}$/.test(value),
  "a name of 1 to 64 printable ASCII characters",
);
const timeMs = whole(0, MAX_TIME_MS);

export const ejectBody = z.strictObject({});

export const ejectPageBody = z.strictObject({
  cursor: z.string(),
  max_bytes: z._default(whole(1, MAX_PAGE_BYTES), DEFAULT_PAGE_BYTES),
});

/** What an eject has written. Bodies are checked where they are decoded. */
export const importBody = z.strictObject({
  source,
  partition: label,
  messages: z.array(
    z.strictObject({
      number: whole(1, Number.MAX_SAFE_INTEGER),
      id: messageId,
      content_type: z.enum(["json", "text", "bytes", "v8"]),
      body: z.string(),
      timestamp_ms: timeMs,
      due_at_ms: z.nullish(timeMs),
      attempts: z.nullish(whole(0, MAX_ATTEMPTS)),
      origin: z.nullish(
        z.strictObject({ source_queue: z.string(), attempts: whole(0, MAX_ATTEMPTS), last_error: z.string() }),
      ),
    }),
  ),
});

export const purgeRefsBody = z.strictObject({ refs: z.array(z.strictObject({ ref: z.string() })) });

export const purgeBody = z.strictObject({ delete_messages_permanently: z.literal(true) });

export const bridgeBody = z.strictObject({
  target: z.strictObject({
    kind: z.enum(["durable", "ephemeral"]),
    queue: label,
    partition,
  }),
});

export const listQuery = z.object({
  page: z.optional(z.coerce.number().check(z.int(), z.minimum(1))),
  per_page: z.optional(z.coerce.number().check(z.int(), z.minimum(1), z.maximum(1000))),
});
