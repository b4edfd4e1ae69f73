import * as z from "zod/mini";
import { begunPartitions } from "./queue-answers.ts";
import { named } from "./components.ts";
import { count, described, text } from "./operation.ts";

/** What the routes of ephemeral queues answer. */

export const messages = z.array(
  named(
    "Message",
    z.object({
      id: text("names this delivery in an ack"),
      partition: z.string(),
      attempts: count("deliveries, this one included"),
      payload: described(z.unknown(), "the JSON text that was pushed, byte for byte"),
    }),
  ),
);

export const outcomes = z.array(
  named("Outcome", z.object({ id: z.string(), outcome: z.enum(["acked", "redelivered", "unknown", "stale"]) })),
);

const tier = z.enum(["declared", "implicit"]);

const options = z.object({
  maxLength: z.number(),
  maxBytes: z.number(),
  policy: z.enum(["reject", "dropOldest"]),
  ttlSeconds: count("0 = messages do not age"),
  leaseSeconds: z.number(),
  retryLimit: count("deliveries before a message is given up"),
  windowBuffer: z.object({ ms: z.number(), count: z.number() }),
  groupIdleSeconds: count("0 = groups are never forgotten"),
});

const listed = z.object({
  queue: z.string(),
  tier,
  depth: count("messages held, leased ones included"),
  bytes: count("payload held"),
  partitions: z.number(),
  groups: z.number(),
  drops: z.object({ bounds: z.number(), ttl: z.number(), retry: z.number() }),
  options,
});

export const watchedQueue = z.extend(listed, {
  oldestAt: described(z.nullable(z.number()), "when the oldest message was pushed, in ms since 1970"),
  pushed: count("messages accepted since its owners started"),
});

export const queueListing = z.object({
  queues: z.array(named("EphemeralQueue", listed)),
  count: z.number(),
  cellBytes: count("payload held, of all queues"),
});

const lying = {
  id: text("names it in a removal"),
  partition: z.string(),
  payload: described(z.unknown(), "the JSON text that was pushed, byte for byte"),
  enqueuedAtMs: count("when it was pushed, in ms since 1970"),
};

export const peeked = z.object({
  queue: z.string(),
  messages: z.array(
    named(
      "PeekedEphemeralMessage",
      z.object({ ...lying, groups: described(z.array(z.string()), "those that have not settled it") }),
    ),
  ),
});

export const begunEject = z.object({
  ejectId: z.string(),
  takenAtMs: z.number(),
  queue: z.string(),
  tier,
  options,
  partitions: begunPartitions,
});

export const ejectedPage = z.object({
  messages: z.array(
    named(
      "EjectedEphemeralMessage",
      z.object({ ...lying, attempts: count("the most deliveries that any group has had of it") }),
    ),
  ),
  cursor: described(z.nullable(z.string()), "where the next page begins; null = this was the last"),
  moment: z.optional(z.literal("restarted")),
});

export const depth = z.object({
  queue: z.string(),
  group: described(z.nullable(z.string()), "as whom the depth is seen"),
  tier,
  pending: count("messages that the group has not been handed, or is to be handed again"),
  partitionsPending: count("partitions that have any"),
  bytes: z.number(),
  partitions: z.array(z.object({ partition: z.string(), pending: z.number(), bytes: z.number() })),
  groups: z.array(
    z.object({ group: z.string(), pending: z.number(), skipped: count("evicted before it was handed them") }),
  ),
});
