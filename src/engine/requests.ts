/** What callers ask of the engine, and what it says of it. */

export interface PopRequest {
  queue: string;
  /** null = any partition. */
  partition: string | null;
  group: string;
  batch: number;
  autoAck: boolean;
  /** How long to wait for a message, in ms; 0 = answer at once. */
  waitMs: number;
  /** Names the pop while it is parked, to cancel it by. */
  waiterId: string;
}

/** What a push may ask for beside being stored. */
export interface PushOptions {
  /** Names the push, so that a repeat of it within a minute stores nothing. */
  key?: string | undefined;
  /** Whether to refuse the push when nobody is there to take it. */
  requireResponders?: boolean | undefined;
}

/** A demand of a queue's home on another owner of it. */
export interface Claim {
  queue: string;
  group: string;
  /** How many messages at the most; 0 only asks. */
  limit: number;
  maxBytes: number;
  autoAck: boolean;
  /** Whether the home wants to hear of later messages. */
  interest: boolean;
}

/** What the holder of a message says of it. */
export type AckStatus = "completed" | "retry" | "failed";

export interface Ack {
  id: string;
  status: AckStatus;
  /** The delivery that is meant; absent = whichever is current. */
  attempts?: number | undefined;
}

export type Outcome = "acked" | "redelivered" | "unknown" | "stale";

/** What became of the messages of an import. */
export interface Imported {
  imported: number;
  /** Were here already. */
  repeated: number;
}
