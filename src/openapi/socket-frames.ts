import * as z from "zod/mini";
import { name } from "../contract/names.ts";
import { ackEntries, pushHead } from "../contract/requests.ts";
import { named } from "./components.ts";
import { messages, outcomes } from "./ephemeral-answers.ts";
import { count, described } from "./operation.ts";

/** The frames of `contract/socket.ts`, which says what they mean. */

const ref = described(z.union([z.string(), z.number()]), "comes back with the answer; at most 128 characters as JSON");
const batch = described(
  z.number().check(z.int(), z.positive()),
  "of a frame of messages; an ack of it, instead of `acks`, completes what is still out of it",
);
const payloads = z.array(z.object({ payload: z.unknown() }));

/** What a client says. */
export const clientFrame = named(
  "ClientFrame",
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("ack"), ref: z.optional(ref), acks: z.optional(ackEntries), batch: z.optional(batch) }),
    z.object({
      ...pushHead.shape,
      type: z.literal("push"),
      ref: z.optional(ref),
      queue: z.optional(name),
      messages: payloads,
    }),
  ]),
);

/** What the broker says. */
export const brokerFrame = named(
  "BrokerFrame",
  z.discriminatedUnion("type", [
    z.object({
      type: z.literal("subscribed"),
      queue: z.string(),
      partition: z.nullable(z.string()),
      group: z.nullable(z.string()),
      prefetch: z.number(),
    }),
    z.object({ type: z.literal("messages"), batch, messages }),
    z.object({
      type: z.literal("acked"),
      ref,
      results: z.optional(outcomes),
      acked: z.optional(count("messages of a batch that were completed")),
    }),
    z.object({ type: z.literal("pushed"), ref, pushed: count("messages that were stored") }),
    z.object({ type: z.literal("end"), code: z.number(), reason: z.string() }),
    z.object({ type: z.literal("error"), ref: z.optional(ref), code: z.string(), error: z.string() }),
  ]),
);
