import * as z from "zod/mini";
import { MAX_LEASE_SECONDS, MAX_RETRY_LIMIT, MAX_WINDOW_COUNT, MAX_WINDOW_MS } from "./limits.ts";

const count = z.number().check(z.int(), z.nonnegative());
const optionalCount = z.nullish(count);

/** The options of a declared queue, as `configure` takes them. The list is closed. */
export const declaredOptions = z.strictObject({
  maxLength: optionalCount,
  maxBytes: optionalCount,
  policy: z.optional(z.enum(["reject", "dropOldest"])),
  ttlSeconds: optionalCount,
  leaseSeconds: optionalCount,
  retryLimit: optionalCount,
  windowBuffer: z.optional(z.strictObject({ ms: optionalCount, count: optionalCount })),
  groupIdleSeconds: optionalCount,
});
export type DeclaredOptions = z.infer<typeof declaredOptions>;

/** What a queue actually runs by, after defaults and clamps; the listing shows it. */
export interface QueueOptions {
  maxLength: number;
  maxBytes: number;
  policy: "reject" | "dropOldest";
  /** 0 = messages do not age. */
  ttlSeconds: number;
  leaseSeconds: number;
  /** Deliveries before a message is given up; 0 acts as 1. */
  retryLimit: number;
  /** `{ms: 0, count: 0}` = a waiting pop answers with the first message. */
  windowBuffer: { ms: number; count: number };
  /** 0 = cursors of groups that have gone are kept. */
  groupIdleSeconds: number;
}

/** The operator's settings that the engine needs. */
export interface EngineSettings {
  queueMaxBytes: number;
  queueMaxLength: number;
  leaseSeconds: number;
  retryLimit: number;
  groupIdleSeconds: number;
  implicitIdleMs: number;
  maxWaiters: number;
}

/** A declared queue keeps the cursor of a silent group for an hour. */
const DECLARED_GROUP_IDLE_SECONDS = 3600;

/** The effective options of a queue: `declared` over the operator's defaults, clamped; null = an implicit queue. */
export function effectiveOptions(declared: DeclaredOptions | null, settings: EngineSettings): QueueOptions {
  const { maxLength, maxBytes, policy, ttlSeconds, leaseSeconds, retryLimit, windowBuffer, groupIdleSeconds } =
    declared ?? {};
  const idleSeconds = declared === null ? settings.groupIdleSeconds : DECLARED_GROUP_IDLE_SECONDS;
  return {
    maxLength: Math.min(maxLength || settings.queueMaxLength, settings.queueMaxLength),
    maxBytes: Math.min(maxBytes || settings.queueMaxBytes, settings.queueMaxBytes),
    policy: policy ?? "reject",
    ttlSeconds: ttlSeconds ?? 0,
    leaseSeconds: Math.min(leaseSeconds || settings.leaseSeconds, MAX_LEASE_SECONDS),
    retryLimit: Math.min(retryLimit ?? settings.retryLimit, MAX_RETRY_LIMIT),
    windowBuffer: {
      ms: Math.min(windowBuffer?.ms ?? 0, MAX_WINDOW_MS),
      count: Math.min(windowBuffer?.count ?? 0, MAX_WINDOW_COUNT),
    },
    groupIdleSeconds: groupIdleSeconds ?? idleSeconds,
  };
}
