/** What Declarations hands to each object of a durable queue: everything declared that it acts upon. Plain data. */
export interface QueueConfig {
  /** Grows with every change of the queue; an older one never replaces a newer one. */
  version: number;
  queueId: string;
  name: string;
  settings: QueueSettings;
  consumers: ConsumerConfig[];
}

export interface QueueSettings {
  deliveryDelaySeconds: number;
  deliveryPaused: boolean;
  retentionSeconds: number;
}

export type ConsumerConfig = WorkerConsumer | HttpConsumer | PullConsumer;

interface AnyConsumer {
  /** 32 hex digits. */
  consumerId: string;
  /** Unique within the queue; by default the script's name, the URL's host, or `pull`. */
  name: string;
  /** Where a message goes after its last delivery has failed; null = it is dropped. */
  deadLetter: { queueId: string; queue: string } | null;
  /** The most messages in one batch. */
  batchSize: number;
  /** Deliveries after the first. */
  maxRetries: number;
  /** How long a message waits before its next delivery when nobody says otherwise. */
  retryDelaySeconds: number;
}

/** Messages are pushed to it, `maxConcurrency` batches at a time. */
interface PushConsumer extends AnyConsumer {
  maxConcurrency: number;
  /** How long a batch that is not full waits for more. */
  maxWaitMs: number;
}

export interface WorkerConsumer extends PushConsumer {
  type: "worker";
  scriptName: string;
  /** The service binding of this Worker that reaches it. */
  binding: string;
}

export interface HttpConsumer extends PushConsumer {
  type: "http";
  url: string;
  secret: string;
}

/** It fetches messages itself. */
export interface PullConsumer extends AnyConsumer {
  type: "http_pull";
  /** How long a pulled message is its own when the pull does not say. */
  visibilityTimeoutMs: number;
}
