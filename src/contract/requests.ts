import * as z from "zod/mini";
import {
  DEFAULT_EJECT_BYTES,
  DEFAULT_PARTITION,
  MAX_EJECT_BYTES,
  MAX_ITEMS,
  MAX_PEEKED,
  MAX_PREFETCH,
  MAX_WAIT_MS,
  MAX_WATCH_MS,
  QUEUE_MODE,
} from "./limits.ts";
import { name, pushKey } from "./names.ts";
import { declaredOptions } from "./options.ts";

/**
 * The bodies of the ephemeral routes; section 2 of the wire contract. Fields that are not named here are ignored. Those
 * of the hot paths are compiled while the module loads, which is the only time at which a Worker may generate code.
 */

/** A push without its messages, whose payloads stay raw text. */
export const pushHead = z.compile(
  z.object({
    queue: name,
    partition: z.nullish(name),
    key: z.nullish(pushKey),
    requireResponders: z.nullish(z.boolean()),
  }),
);
export type PushHead = z.infer<typeof pushHead>;

export const ackEntries = z
  .array(
    z.object({
      id: z.string(),
      status: z.nullish(z.string()),
      /** The delivery that is meant: an ack for an earlier one settles nothing. */
      attempts: z.nullish(z.number().check(z.int(), z.positive())),
    }),
  )
  .check(z.maxLength(MAX_ITEMS));

export const ackBody = z.compile(z.object({ queue: name, group: z.nullish(name), acks: ackEntries }));
export type AckBody = z.infer<typeof ackBody>;

export const configureBody = z.object({ queue: name, options: z.optional(declaredOptions) });
export type ConfigureBody = z.infer<typeof configureBody>;

export const resetBody = z.object({ queue: name });
export type ResetBody = z.infer<typeof resetBody>;

const truthy = new Set(["true", "1", "yes"]);
const flag = z
  .pipe(
    z.optional(z.string()),
    z.transform((text: string | undefined) => text !== undefined && truthy.has(text)),
  )
  .register(z.globalRegistry, { type: "boolean", default: false });

/** A whole number of the query, clamped; one that cannot be read is as good as absent. */
function clamped(min: number, max: number, fallback: number) {
  const read = z.transform((text: string | undefined) => {
    if (text === undefined || !/^[+-]?\d+$/.test(text)) return fallback;
    return Math.min(max, Math.max(min, Number(text)));
  });
  const shape = { type: "integer", minimum: min, maximum: max, default: fallback } as const;
  return z.pipe(z.optional(z.string()), read).register(z.globalRegistry, shape);
}

/** An optional name of the query, where empty is as good as absent. */
const optionalName = z.pipe(
  z.transform((text: unknown) => (text === "" ? undefined : text)),
  z.optional(name),
);

/** The query of a pop. `popTimeoutMs` is what an absent `timeout` means. */
export function popQuery(popTimeoutMs: number) {
  return z.object({
    queue: name,
    partition: optionalName,
    group: optionalName,
    batch: clamped(1, MAX_ITEMS, 1),
    wait: flag,
    timeout: clamped(0, MAX_WAIT_MS, popTimeoutMs),
    autoAck: flag,
    commitOnDelivery: flag,
  });
}

/** Of a subscription that does not say. */
const PREFETCH = 10;

export const subscribeQuery = z.object({
  queue: name,
  partition: optionalName,
  group: optionalName,
  prefetch: clamped(1, MAX_PREFETCH, PREFETCH),
});

export const peekQuery = z.object({ queue: name, partition: optionalName, limit: clamped(1, MAX_PEEKED, 10) });

const pageBytes = z.number().check(z.int(), z.minimum(1), z.maximum(MAX_EJECT_BYTES));
export const ejectBody = z.object({ queue: name });
export const ejectPageBody = z.object({
  queue: name,
  cursor: z.string(),
  maxBytes: z._default(pageBytes, DEFAULT_EJECT_BYTES),
});
export const removeBody = z.object({ queue: name, ids: z.array(z.string()).check(z.maxLength(MAX_ITEMS)) });

export const queueName = z.object({ queue: name });
export const depthQuery = z.object({ queue: name, group: optionalName });
export const groupPath = z.object({ queue: name, group: name });
/** `after` is the version that is known already; the answer waits for another one. */
export const overviewQuery = z.object({
  after: z.optional(z.string()),
  waitMs: clamped(0, MAX_WATCH_MS, 0),
});
export const ownersQuery = z.object({ queue: optionalName });

export function partitionOf(head: Pick<PushHead, "partition">): string {
  return head.partition ?? DEFAULT_PARTITION;
}

export function groupOf(group: string | null | undefined): string {
  return group ?? QUEUE_MODE;
}

/** What a status text of an ack means; anything unknown is a failure. */
export function ackStatus(status: string | null | undefined): "completed" | "retry" | "failed" {
  switch (status) {
    case undefined:
    case null:
    case "completed":
    case "success":
    case "acked":
    case "ok":
      return "completed";
    case "retry":
      return "retry";
    default:
      return "failed";
  }
}
