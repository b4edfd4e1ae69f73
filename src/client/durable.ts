import { decodeBase64, encodeBase64 } from "./base64.ts";
import type { Transport } from "./transport.ts";
import type { Abortable } from "./types.ts";

export type ContentType = "json" | "text" | "bytes";

export interface SendOptions extends Abortable {
  /** `json` when absent; `text` takes a string, `bytes` a `Uint8Array` or `ArrayBuffer`. */
  contentType?: ContentType;
  /** 0 to 86,400. */
  delaySeconds?: number;
  /** `Default` when absent. */
  partition?: string;
}

export interface BatchMessage {
  body: unknown;
  contentType?: ContentType;
  /** Wins over that of the batch. */
  delaySeconds?: number;
}

export interface PullOptions extends Abortable {
  /** 1 to 100; 5 when absent. */
  batchSize?: number;
  /** How long the messages are yours, in ms, up to 12 h. */
  visibilityTimeoutMs?: number;
  /** How long to wait when there is none, in ms, up to 300,000. */
  waitMs?: number;
  /** Which of the queue's pull consumers this is, where it has several. */
  consumer?: string;
}

export interface PulledMessage<T = unknown> {
  id: string;
  timestamp: Date;
  attempts: number;
  contentType: ContentType | "v8";
  /** `v8`, which only Workers can write, stays as the bytes of its stored form. */
  body: T;
  leaseId: string;
}

export interface Metrics {
  backlogCount: number;
  backlogBytes: number;
  oldestMessageTimestamp?: Date;
}

/** A message that is to come again, after a while. */
export interface Retry {
  leaseId: string;
  delaySeconds?: number;
}

interface WireMetrics {
  metadata: { metrics: { backlog_count: number; backlog_bytes: number; oldest_message_timestamp_ms: number } };
}

interface WireMessage {
  id: string;
  timestamp_ms: number;
  attempts: number;
  body: string;
  lease_id: string;
  metadata: { "CF-Content-Type": ContentType | "v8" };
}

/**
 * One durable queue, as {@link Waggle.queues} answers it. The queue must have been declared, and for `pull` it needs a
 * consumer of type `http_pull`.
 *
 * ```ts
 * const orders = waggle.queues("orders");
 * await orders.send({ item: "book" }, { delaySeconds: 10 });
 * const { messages } = await orders.pull({ batchSize: 10, waitMs: 20_000 });
 * await orders.ack(messages);
 * ```
 */
export class DurableQueue {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, name: string) {
    this.#transport = transport;
    this.#path = `/api/v1/queues/${encodeURIComponent(name)}/messages`;
  }

  /**
   * Resolves once the message is on disk. A call whose answer is lost is not repeated: it may have been carried out, and
   * whether to send again is yours to decide.
   */
  async send(body: unknown, { signal, partition, ...options }: SendOptions = {}): Promise<Metrics> {
    const message = { ...wireMessage({ body, ...options }), partition };
    return metricsOf(await this.#post<WireMetrics>("", message, { isHarmless: false, signal }));
  }

  /** Sends up to 100 messages, all or none. */
  async sendBatch(
    messages: Iterable<BatchMessage>,
    { delaySeconds, partition, signal }: Omit<SendOptions, "contentType"> = {},
  ): Promise<Metrics> {
    const batch = { messages: Array.from(messages, wireMessage), delay_seconds: delaySeconds, partition };
    return metricsOf(await this.#post<WireMetrics>("/batch", batch, { isHarmless: false, signal }));
  }

  /** Takes messages; those that are not acked come again when their time is over. */
  async pull<T = unknown>({ batchSize, visibilityTimeoutMs, waitMs = 0, consumer, signal }: PullOptions = {}): Promise<{
    messages: PulledMessage<T>[];
    backlogCount: number;
  }> {
    const wanted = {
      batch_size: batchSize,
      visibility_timeout_ms: visibilityTimeoutMs,
      wait_ms: waitMs === 0 ? undefined : waitMs,
      consumer,
    };
    const { messages, message_backlog_count: backlogCount } = await this.#post<{
      messages: WireMessage[];
      message_backlog_count: number;
    }>("/pull", wanted, { isHarmless: true, waitMs, signal });
    return { messages: messages.map((message) => messageOf<T>(message)), backlogCount };
  }

  /** Settles pulled messages, or their lease ids. `retries` come again, each after a delay of its own. */
  ack(
    messages: readonly (string | Pick<PulledMessage, "leaseId">)[],
    retries: readonly (string | Retry)[] = [],
    { signal }: Abortable = {},
  ): Promise<{ ackCount: number; retryCount: number; warnings: Record<string, string> }> {
    const body = {
      acks: messages.map((message) => ({ lease_id: typeof message === "string" ? message : message.leaseId })),
      retries: retries.map((retry) => {
        const { leaseId, delaySeconds }: Retry = typeof retry === "string" ? { leaseId: retry } : retry;
        return { lease_id: leaseId, delay_seconds: delaySeconds };
      }),
    };
    return this.#post("/ack", body, { isHarmless: true, signal });
  }

  async #post<T>(
    verb: string,
    body: unknown,
    how: { isHarmless: boolean; waitMs?: number; signal: AbortSignal | undefined },
  ): Promise<T> {
    const call = { method: "POST" as const, path: this.#path + verb, body: JSON.stringify(body), ...how };
    return (await this.#transport.call<{ result: T }>(call)).result;
  }
}

function wireMessage({ body, contentType, delaySeconds }: BatchMessage) {
  const isBytes = contentType === "bytes";
  return { body: isBytes ? encodeBase64(bytesOf(body)) : body, content_type: contentType, delay_seconds: delaySeconds };
}

function bytesOf(body: unknown): Uint8Array {
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  throw new TypeError("a body of content type bytes must be a Uint8Array or an ArrayBuffer");
}

function messageOf<T>({ id, timestamp_ms, attempts, body, lease_id, metadata }: WireMessage): PulledMessage<T> {
  const contentType = metadata["CF-Content-Type"];
  return {
    id,
    timestamp: new Date(timestamp_ms),
    attempts,
    contentType,
    body: bodyOf(contentType, body) as T,
    leaseId: lease_id,
  };
}

function bodyOf(contentType: PulledMessage["contentType"], body: string): unknown {
  if (contentType === "text") return body;
  const bytes = decodeBase64(body);
  return contentType === "json" ? JSON.parse(new TextDecoder().decode(bytes)) : bytes;
}

function metricsOf({ metadata: { metrics } }: WireMetrics): Metrics {
  const { backlog_count: backlogCount, backlog_bytes: backlogBytes, oldest_message_timestamp_ms: oldest } = metrics;
  const age = oldest === 0 ? {} : { oldestMessageTimestamp: new Date(oldest) };
  return { backlogCount, backlogBytes, ...age };
}
