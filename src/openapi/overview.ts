import * as z from "zod/mini";
import { overviewQuery } from "../contract/requests.ts";
import { watchedQueue } from "./ephemeral-answers.ts";
import { count, described, text, type Operation } from "./operation.ts";

const timeMs = described(z.nullable(z.number()), "in ms since 1970");

const durableQueue = z.object({
  queue: z.string(),
  queueId: z.string(),
  paused: z.boolean(),
  consumers: z.array(
    z.object({
      name: z.string(),
      type: z.enum(["worker", "http", "http_pull"]),
      deadLetterQueue: z.nullable(z.string()),
    }),
  ),
  partitions: z.number(),
  unreachable: count("partitions that could not be asked: they count nowhere"),
  skipped: count("partitions that the plan's limit of calls left no room for: they count nowhere"),
  ready: z.number(),
  delayed: z.number(),
  leased: z.number(),
  bytes: z.number(),
  oldestAt: timeMs,
  sent: count("messages that came since its partitions were made, without delayed ones that were purged"),
  dropped: z.object({ expired: z.number(), exhausted: z.number(), purged: z.number() }),
  deadLettered: z.number(),
  lastDelivery: z.nullable(
    z.object({
      at: z.number(),
      outcome: z.nullable(z.enum(["ok", "error", "unreachable"])),
      error: z.nullable(z.string()),
    }),
  ),
});

export const overviewOperation: Operation = {
  id: "overview",
  tag: "system",
  summary: "Every queue at a glance, as soon as anything differs from what is known",
  description:
    "With `after`, the broker looks once a second until there is another version or `waitMs` is over. Asks every object, and so keeps them awake.",
  query: overviewQuery.shape,
  answers: [
    {
      status: 200,
      description: "every queue",
      schema: z.object({
        version: text("changes with anything of the rest but `now`"),
        now: z.number(),
        durable: z.array(durableQueue),
        ephemeral: z.array(watchedQueue),
      }),
    },
  ],
  errors: ["ephemeral_bad_request", "owner_moved", "ephemeral_forward_failed"],
};
