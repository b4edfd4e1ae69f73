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

/** One call that a handler made on its batch. Plain data: the consumer's helper sends a list of them. */
export interface Call {
  kind: "ack" | "retry";
  /** The message's place in the batch; null = the call was on the batch as a whole. */
  message: number | null;
  /** Of a retry: the delay that it names. */
  delaySeconds: number | null;
}
