/** Of everything that may take a while: aborting it ends the call with the signal's reason. */
export interface Abortable {
  signal?: AbortSignal | undefined;
}

/** A message of an ephemeral queue. */
export interface Message<T = unknown> {
  id: string;
  partition: string;
  /** 1 at the first delivery to this group. */
  attempts: number;
  payload: T;
}

export interface PushOptions extends Abortable {
  /** `Default` when absent. */
  partition?: string;
  /**
   * Names this push, in up to 128 bytes: sent again within 60 s, it stores nothing. A push that brings none is given one,
   * so that it can be repeated when its answer is lost; with null it has none and is not repeated.
   */
  key?: string | null;
  /** Whether to refuse the push with `no_responders` when nobody waits for it and nobody has popped within 5 s. */
  requireResponders?: boolean;
}

export interface PopOptions extends Abortable {
  /** Absent = any partition. */
  partition?: string;
  /** Consumers that share a group share the messages; absent = queue mode. */
  group?: string;
  /** 1 to 10,000 messages; 1 when absent. */
  batch?: number;
  /** Whether to wait for a message when there is none. */
  wait?: boolean;
  /** How long to wait, in ms, up to 300,000; 30,000 when absent. */
  timeout?: number;
  /** Whether a message counts as consumed once it has been handed out. */
  autoAck?: boolean;
}

/** `failed` and `retry` hand a message back, to be delivered again up to the queue's retry limit. */
export type AckStatus = "completed" | "retry" | "failed";

/** A popped message, or as much of it as an ack needs. */
export interface Settled {
  id: string;
  attempts?: number;
  status?: AckStatus;
}

export interface AckOptions extends Abortable {
  /** That of the pop. */
  group?: string;
  /** What holds for messages that bring no status of their own; `completed` when absent. */
  status?: AckStatus;
}

/** `unknown` = there was nothing to settle; `stale` = the id is of an earlier life of its owner. */
export type Outcome = "acked" | "redelivered" | "unknown" | "stale";

/** The options of a declared queue. What is absent has its default. */
export interface QueueOptions {
  maxLength?: number | null;
  maxBytes?: number | null;
  policy?: "reject" | "dropOldest";
  ttlSeconds?: number | null;
  leaseSeconds?: number | null;
  retryLimit?: number | null;
  windowBuffer?: { ms?: number | null; count?: number | null };
  groupIdleSeconds?: number | null;
}

export interface ListedQueue {
  queue: string;
  tier: "declared" | "implicit";
  depth: number;
  bytes: number;
  partitions: number;
  groups: number;
  drops: { bounds: number; ttl: number; retry: number };
  options: Required<QueueOptions>;
}

export interface Depth {
  queue: string;
  group: string | null;
  tier: "declared" | "implicit";
  pending: number;
  partitionsPending: number;
  bytes: number;
  partitions: { partition: string; pending: number; bytes: number }[];
  groups: { group: string; pending: number; skipped: number }[];
}
