import * as z from "zod/mini";
import { named } from "./components.ts";
import { count, described, text, time, type Operation, type Schema } from "./operation.ts";

/** What the routes of durable queues answer, as `http/queues/shapes.ts` makes it. */

const id = text("32 hex digits", { pattern: "^[0-9a-f]{32}$" });
const maybe = z.nullable(time);

const common = {
  consumer_id: id,
  created_on: time,
  queue_name: z.string(),
  name: text("unique within the queue"),
  dead_letter_queue: z.nullable(z.string()),
  declared_by: described(z.nullable(z.string()), "the Worker whose manifest declared it"),
};

const batchSettings = {
  batch_size: count("the most messages in one batch"),
  max_retries: count("deliveries after the first"),
  retry_delay: count("in seconds"),
};

const pushSettings = z.object({
  ...batchSettings,
  max_concurrency: count("batches at a time, for each partition"),
  max_wait_time_ms: count("how long a batch that is not full waits for more"),
});

const pullSettings = z.object({ ...batchSettings, visibility_timeout_ms: count("of a pull that does not say") });

export const consumer = named(
  "Consumer",
  z.discriminatedUnion("type", [
    z.object({
      ...common,
      type: z.literal("worker"),
      script_name: z.string(),
      script: text("the same as script_name, where wrangler reads it"),
      binding: text("the service binding that reaches it"),
      settings: pushSettings,
    }),
    z.object({ ...common, type: z.literal("http"), url: z.string(), settings: pushSettings }),
    z.object({ ...common, type: z.literal("http_pull"), settings: pullSettings }),
  ]),
);

export const queue = named(
  "Queue",
  z.object({
    queue_id: id,
    queue_name: z.string(),
    created_on: time,
    modified_on: time,
    producers: z.array(z.object({ type: z.literal("worker"), script: z.string() })),
    producers_total_count: count("how many producers there are"),
    consumers: z.array(consumer),
    consumers_total_count: count("how many consumers there are"),
    settings: z.object({
      delivery_delay: count("in seconds"),
      delivery_paused: z.boolean(),
      message_retention_period: count("in seconds"),
    }),
  }),
);

const outcome = z.nullable(z.enum(["ok", "error", "unreachable"]));
const lastDelivery = { last_delivery: maybe, last_outcome: outcome, last_error: z.nullable(z.string()) };
const backlog = {
  ready_count: count("messages that may go out"),
  delayed_count: count("messages that are not due yet"),
  leased_count: count("messages that are out"),
  backlog_bytes: count("as stored"),
};

const partitionStatus = z.object({
  partition: z.string(),
  ...backlog,
  oldest_message_timestamp_ms: count("0 = there is none"),
  next_alarm: maybe,
  rows_written: count("since the object was last started"),
  consumers: z.array(
    z.object({
      consumer_id: id,
      name: z.string(),
      backlog_count: count("messages that it has not settled"),
      batches_out: count("batches that are out"),
      ...lastDelivery,
      retry_at: maybe,
      dead_letters_waiting: count("messages that are on their way to the dead-letter queue"),
    }),
  ),
});

export const queueWithStatus = z.object({
  ...queue.shape,
  status: named(
    "QueueStatus",
    z.object({
      ...backlog,
      oldest_message_age_seconds: z.nullable(z.number()),
      next_alarm: maybe,
      dropped: z.object({
        expired: count("past their retention"),
        exhausted: count("past their last retry, with no dead-letter queue"),
        purged: count("by a purge"),
      }),
      dead_lettered: count("messages that the dead-letter queue has"),
      ...lastDelivery,
      partitions: z.array(partitionStatus),
      unreachable: z.array(z.object({ partition: z.string(), error: z.string() })),
    }),
  ),
});

export const metrics = named(
  "QueueMetrics",
  z.object({
    backlog_count: count("messages held, in every state"),
    backlog_bytes: count("as stored"),
    oldest_message_timestamp_ms: count("0 = there is none"),
  }),
);

const plainMessage = {
  id: z.string(),
  timestamp_ms: count("when it was sent"),
  attempts: count("deliveries so far"),
  body: text("`text` as it is, every other content type in base64"),
};
const contentType = z.enum(["json", "text", "bytes", "v8"]);
const origin = z.object({ source_queue: z.string(), attempts: z.number(), last_error: z.string() });
const message = {
  ...plainMessage,
  metadata: z.object({
    "CF-Content-Type": contentType,
    "CF-sourceMessageSource": z.enum(["waggle", "dead-letter"]),
    origin: z.optional(origin),
  }),
};
const ref = text("names the message in a purge");

export const pulled = z.object({
  message_backlog_count: count("messages held, in every state"),
  messages: z.array(named("PulledMessage", z.object({ ...message, lease_id: text("names this delivery in an ack") }))),
  metadata: z.object({ metrics }),
});

export const peeked = z.object({
  messages: z.array(
    named(
      "PeekedMessage",
      z.object({
        ...message,
        ref,
        state: z.enum(["ready", "delayed", "leased"]),
        due_at: maybe,
      }),
    ),
  ),
  after: z.optional(text("where the next peek goes on")),
});

/** Where an eject begins, of either kind of queue. */
export const begunPartitions = z.array(
  z.object({
    partition: z.string(),
    count: count("messages that there are"),
    cursor: text("where the first page begins"),
  }),
);

export const begunEject = z.object({
  eject_id: z.string(),
  taken_on: time,
  queue,
  partitions: begunPartitions,
});

export const ejectedPage = z.object({
  messages: z.array(
    named(
      "EjectedMessage",
      z.object({
        ...plainMessage,
        partition: z.string(),
        ref,
        content_type: contentType,
        due_at_ms: z.nullable(count("when it was due, if it was delayed")),
        origin: z.nullable(origin),
      }),
    ),
  ),
  cursor: z.nullable(text("where the next page begins; null = this was the last")),
  moment: z.optional(z.literal("restarted")),
});

export const bridge = named(
  "Bridge",
  z.object({
    source: z.string(),
    target: z.object({ kind: z.enum(["durable", "ephemeral"]), queue: z.string(), partition: z.optional(z.string()) }),
    created_on: time,
  }),
);

export const appliedManifest = z.object({
  name: z.string(),
  changed: z.boolean(),
  queues: z.array(
    z.object({
      ...queue.shape,
      created: z.boolean(),
      not_honoured: z.array(
        z.object({
          key: text("where it stands in the manifest"),
          value: z.unknown(),
          reason: z.string(),
          replacement: z.optional(z.string()),
        }),
      ),
    }),
  ),
  removed_consumers: z.array(consumer),
});

const success = { success: z.literal(true), errors: z.array(z.never()), messages: z.array(z.never()) };

/** A result in the envelope of Cloudflare's API. */
export function answered(result: Schema): Operation["answers"] {
  return [{ status: 200, description: "done", schema: z.object({ ...success, result }) }];
}

const resultInfo = named(
  "ResultInfo",
  z.object({
    page: z.number(),
    per_page: z.number(),
    count: count("how many this answer holds"),
    total_count: count("how many there are"),
  }),
);

export function listed(item: Schema): Operation["answers"] {
  const schema = z.object({ ...success, result: z.array(item), result_info: resultInfo });
  return [{ status: 200, description: "the list", schema }];
}

export const queueFailure = named(
  "QueueFailure",
  z.object({
    success: z.literal(false),
    errors: z.array(z.object({ code: z.number(), message: z.string() })),
    messages: z.array(z.never()),
    result: z.null(),
  }),
);
