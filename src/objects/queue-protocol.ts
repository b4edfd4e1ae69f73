import type { QueueConfig } from "../contract/queue-config.ts";
import type { QueueRefusal } from "../contract/queue-errors.ts";

/** What the objects of durable queues hand to each other and to the Worker. Plain data throughout. */

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

/** How one consumer of one partition is doing. */
export interface ConsumerStatus {
  consumerId: string;
  name: string;
  /** Messages that it has not settled. */
  backlogCount: number;
  /** Batches that are out. */
  batchesOut: number;
  lastDeliveryAt: number | null;
  lastOutcome: "ok" | "error" | "unreachable" | null;
  lastError: string | null;
  /** When it will be tried again after it could not be reached. */
  retryAt: number | null;
  deadLettersWaiting: number;
}

/** Why something arrives or does not arrive from one partition. */
export interface PartitionStatus extends BacklogDetail {
  partition: string;
  nextAlarmAt: number | null;
  /** Rows written since the object was last started: what storage costs. */
  rowsWritten: number;
  consumers: ConsumerStatus[];
  /** Messages since the partition was made, kept over restarts. */
  dropped: { expired: number; exhausted: number; purged: number };
  deadLettered: number;
}

/**
 * The methods of a durable queue's object, one object for each (queue, partition), named by {@link queueObjectName}. An
 * object that knows no configuration yet asks Declarations (`openPartition`) before its first answer, which also records
 * the partition; if its queue does not exist, the answer is refused with 10104.
 */
export interface DurableQueueMethods {
  /**
   * Stores messages, all or none; resolves once they are on disk. `queue` is the name that the caller resolved: after a
   * rename or a deletion it is refused with 10104, and the caller looks the name up anew.
   */
  send(queue: string, messages: PackedMessages): Promise<Backlog | QueueRefusal>;
  /** Dead letters of another partition object. A number that is not above the last one of this source is a repeat. */
  receive(source: string, letters: DeadLetter[]): Promise<null | QueueRefusal>;
  /** Leases up to `limit` messages to a pull client; `consumer` null = the queue's only pull consumer. 10252 while paused. */
  pull(
    consumer: string | null,
    limit: number,
    visibilityTimeoutMs: number | null,
  ): Promise<PulledMessage[] | QueueRefusal>;
  /** Resolves with true as soon as a pull would get something, with false after `waitMs`. */
  whenReady(consumer: string | null, waitMs: number): Promise<boolean | QueueRefusal>;
  /** Takes what pull clients have done; one outcome each, in order. */
  settle(settlements: Settlement[]): Promise<SettleOutcome[]>;
  /** Called by Declarations after every change; resolves once it is on disk. */
  configure(config: QueueConfig): Promise<void>;
  /** Called by Declarations: the queue was deleted, and everything goes. */
  destroy(): Promise<void>;
  backlog(): Promise<BacklogDetail>;
  status(): Promise<PartitionStatus>;
  /** Up to `limit` messages, oldest first; nothing is leased. */
  peek(limit: number): Promise<PeekedMessage[]>;
  /** Removes the messages that the refs name; answers those that name nothing here. */
  purgeRefs(refs: string[]): Promise<string[]>;
  /** Removes everything. Answers how many messages went. */
  purge(): Promise<number>;
}

/** Objects are named by the queue's id, so that a rename keeps the messages. */
export function queueObjectName(queueId: string, partition: string): string {
  return `${queueId}:${partition}`;
}
