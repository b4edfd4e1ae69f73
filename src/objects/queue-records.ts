import type { ConsumerConfig, QueueSettings } from "../contract/queue-config.ts";
import type { NotHonoured } from "../contract/queue-manifest.ts";

/** What Declarations knows of durable queues, as it hands it to the Worker. Plain data throughout. */

/** What a caller needs to know in order to reach a queue's objects. */
export interface ResolvedQueue {
  queueId: string;
  name: string;
  /** Those that anybody has sent to, sorted. */
  partitions: string[];
}

export interface ConsumerSummary extends Pick<ConsumerConfig, "name" | "type"> {
  deadLetterQueue: string | null;
}

/** A queue among all of them. */
export interface CountedQueue extends ResolvedQueue {
  isPaused: boolean;
  consumers: ConsumerSummary[];
  /** Partitions that the list leaves out. */
  skipped: number;
}

export interface QueueRecord {
  queueId: string;
  name: string;
  settings: QueueSettings;
  createdAt: number;
  modifiedAt: number;
  /** The Workers whose manifests say that they send to it. */
  producers: string[];
  consumers: ConsumerRecord[];
}

export interface ConsumerRecord {
  /** The queue that it consumes. */
  queue: string;
  config: ConsumerConfig;
  createdAt: number;
  /** The Worker whose manifest declared it; null = it was declared by itself. */
  declaredBy: string | null;
}

export interface QueuePage {
  queues: QueueRecord[];
  /** How many there are on all pages. */
  total: number;
}

export interface PurgeState {
  /** null = the queue has never been purged. */
  startedAt: number | null;
  /** Whether everything that was there at that time has gone. */
  isCompleted: boolean;
}

/** What has become of a manifest. */
export interface AppliedManifest {
  /** Every queue that it names, dead-letter queues included. */
  queues: QueueRecord[];
  /** The names of those that were made for it. */
  created: string[];
  /** Consumers of this Worker that it does not name any more. */
  removed: ConsumerRecord[];
  /** False = everything was as it says already. */
  isChanged: boolean;
  notHonoured: NotHonoured[];
}

/** Where the messages of a Cloudflare Queue go. */
export interface BridgeTarget {
  kind: "durable" | "ephemeral";
  queue: string;
  partition?: string;
}

export interface Bridge {
  /** The name of the Cloudflare Queue. */
  source: string;
  target: BridgeTarget;
  createdAt: number;
}
