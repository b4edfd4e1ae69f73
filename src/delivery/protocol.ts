import type { Call } from "./fold.ts";

/** The method of a consumer that is wrapped by the helper. It must not be `queue`: see `unreachable.ts`. */
export const DELIVER = "waggleDeliver";

/** A batch without functions, for the helper on the consumer's side. */
export interface PlainBatch {
  queue: string;
  messages: PlainMessage[];
  metadata: { metrics: BatchMetrics };
}

export interface PlainMessage {
  id: string;
  timestamp: Date;
  body: unknown;
  /** 1 at the first delivery. */
  attempts: number;
}

/** As `MessageBatch` of Cloudflare Queues has them; no timestamp = nothing waits. */
export interface BatchMetrics {
  backlogCount: number;
  backlogBytes: number;
  oldestMessageTimestamp?: Date;
}

/** What the helper answers once everything has settled. */
export interface PlainAnswer {
  /** In the order in which they were made. */
  calls: Call[];
  /** Why the handler failed; null = it succeeded. */
  error: string | null;
}
