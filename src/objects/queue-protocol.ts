import type { EjectCursor } from "../durable/eject-cursor.ts";
import type { EjectedPage } from "../durable/moment.ts";
import type { PeekedRun } from "../durable/views.ts";
import type { QueueConfig } from "../contract/queue-config.ts";
import type { QueueRefusal } from "../contract/queue-errors.ts";
import type {
  PackedMessages,
  Backlog,
  BacklogDetail,
  PeekedMessage,
  PulledMessage,
  Settlement,
  SettleOutcome,
  DeadLetter,
  ImportedMessage,
} from "../durable/message.ts";

/** What the objects of durable queues hand to each other and to the Worker. Plain data throughout. */

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
  /** Messages that came since the partition was made, without delayed ones that were purged. */
  sent: number;
}

/** Everything that one partition held at one time. */
export interface BegunMoment {
  count: number;
  cursor: EjectCursor;
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
  /**
   * Stores messages as they were elsewhere, all or none; answers how many of them were new. Numbers count as in `receive`;
   * `queue` as in `send`.
   */
  import(queue: string, source: string, messages: ImportedMessage[]): Promise<number | QueueRefusal>;
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
  /** The same of what became ready from the place `from` on, and the place after it; null = the end. */
  peekFrom(limit: number, from: number | null): Promise<PeekedRun>;
  /** Begins a moment, which {@link ejectPage} reads; 10250 when too many are open. */
  eject(ejectId: string): Promise<BegunMoment | QueueRefusal>;
  /** Messages of a moment from a cursor on, up to a size but one at least. */
  ejectPage(cursor: EjectCursor, maxBytes: number): Promise<EjectedPage | QueueRefusal>;
  /** Removes the messages that the refs name; answers those that name nothing here. */
  purgeRefs(refs: string[]): Promise<string[]>;
  /** Removes everything. Answers how many messages went. */
  purge(): Promise<number>;
}

/** Objects are named by the queue's id, so that a rename keeps the messages. */
export function queueObjectName(queueId: string, partition: string): string {
  return `${queueId}:${partition}`;
}
