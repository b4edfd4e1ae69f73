/** Messages of durable queues, in the forms in which they travel and lie. Plain data throughout. */

export type ContentType = "json" | "text" | "bytes" | "v8";

/** Messages on their way into a queue, in columns; the bodies lie one after another, as they are stored. */
export interface PackedMessages {
  types: ContentType[];
  /** Bytes of each body. */
  lengths: number[];
  /** Per message; null = the queue's own delay. */
  delaySeconds: (number | null)[];
  bodies: Uint8Array;
}

/** A message as it is stored, for whoever hands it to somebody. */
export interface StoredMessage {
  id: string;
  sentAt: number;
  /** Which delivery this is; 1 = the first. For a message that is only looked at: how often it was delivered. */
  attempts: number;
  type: ContentType;
  body: Uint8Array;
  /** Where a dead letter comes from. */
  origin: Origin | null;
}

/** What a dead letter remembers. */
export interface Origin {
  /** The queue that gave it up. */
  queue: string;
  /** How often it was delivered there. */
  attempts: number;
  /** Why its last delivery failed. */
  error: string;
}

/** What one partition holds, or a queue when added up. */
export interface Backlog {
  count: number;
  bytes: number;
  /** When the oldest message was sent; null = there is none. */
  oldestAt: number | null;
}

export interface BacklogDetail extends Backlog {
  readyCount: number;
  delayedCount: number;
  leasedCount: number;
}

export type MessageState = "ready" | "delayed" | "leased";

export interface PeekedMessage extends StoredMessage {
  state: MessageState;
  /** When it is due; null = it is ready, or out without a limit. */
  dueAt: number | null;
  /** Names the message for a purge. */
  ref: string;
}

export interface PulledMessage extends StoredMessage {
  leaseId: string;
}

/** What a pull client has done with a message. */
export interface Settlement {
  leaseId: string;
  /** null = it is done. */
  retry: { delaySeconds: number | null } | null;
}

export type SettleOutcome = "acked" | "retried" | "unknown";

/** A message that was given up elsewhere. */
export interface DeadLetter {
  /** Its place in the line of its source, which grows: one that is not above the last that arrived is a repeat. */
  number: number;
  message: StoredMessage;
}

/** A message as it stood when a moment began. */
export interface EjectedMessage extends StoredMessage {
  /** When it was due; null = it was ready, or out. */
  dueAt: number | null;
  /** Names the message for a purge. */
  ref: string;
}

/** A message that was in another broker, or in this one before. */
export interface ImportedMessage {
  /** Its place in the line of its source, as with a dead letter. */
  number: number;
  /** `attempts` were its deliveries so far. */
  message: StoredMessage;
  /** null = it is ready. */
  dueAt: number | null;
}
