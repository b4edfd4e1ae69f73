import { WorkerEntrypoint } from "cloudflare:workers";
import type { Env } from "../config.ts";
import { QueueError } from "../contract/queue-errors.ts";
import { DEFAULT_PARTITION } from "../contract/limits.ts";
import { nameProblem } from "../contract/names.ts";
import { packMessages, type Draft } from "../durable/content.ts";
import { DurableQueues } from "../durable-queues.ts";
import type { Backlog } from "../durable/message.ts";

/** What a producer's binding may be confined to, in the `props` of its service binding. */
export interface QueueProps {
  /** The only queue that the binding reaches. */
  queue: string;
  /** The partition of sends that name none. Default: `Default`. */
  partition?: string;
  /** Default: all of them. */
  verbs?: QueueVerb[];
}

export type QueueVerb = "send" | "metrics";

export interface SendOptions {
  /** `json` (default), `text`, `bytes` or `v8`. */
  contentType?: string;
  /** A whole number from 0 to 86,400; default: the queue's own delay. */
  delaySeconds?: number;
  /** Default: that of the binding. */
  partition?: string;
}

export interface SendBatchOptions {
  /** For messages that have no delay of their own. */
  delaySeconds?: number;
  partition?: string;
}

/** What a queue holds. Beside Cloudflare's three fields, how it stands with it. */
export interface QueueMetrics {
  backlogCount: number;
  backlogBytes: number;
  oldestMessageTimestamp?: Date;
  readyCount: number;
  delayedCount: number;
  leasedCount: number;
}

/** What a send resolves with: how much waits in its partition. */
export interface SendResponse {
  metadata: { metrics: Pick<QueueMetrics, "backlogCount" | "backlogBytes" | "oldestMessageTimestamp"> };
}

/**
 * A durable queue as its producers see it: the `Queue` of Cloudflare Queues, with nothing to import.
 *
 * ```toml
 * [[services]]
 * binding = "ORDERS"
 * service = "waggle"
 * entrypoint = "Queue"
 * props = { queue = "orders" }
 * ```
 *
 * A call that is refused throws a {@link QueueError} and stores nothing.
 */
export class Queue extends WorkerEntrypoint<Env, QueueProps> {
  /** Resolves once the message is on disk. */
  async send(body: unknown, options: SendOptions = {}): Promise<SendResponse> {
    const queue = this.#permit("send");
    const { contentType, delaySeconds, partition } = known(options, ["contentType", "delaySeconds", "partition"]);
    return this.#send(queue, partition, [{ body, contentType, delaySeconds }]);
  }

  /** All or nothing. A message's own delay wins over the batch's. */
  async sendBatch(messages: Iterable<Draft>, options: SendBatchOptions = {}): Promise<SendResponse> {
    const queue = this.#permit("send");
    const { delaySeconds, partition } = known(options, ["delaySeconds", "partition"]);
    return this.#send(queue, partition, draftsOf(messages), delaySeconds);
  }

  async metrics(): Promise<QueueMetrics> {
    const queue = this.#permit("metrics");
    const { readyCount, delayedCount, leasedCount, ...backlog } = await new DurableQueues(this.env).backlog(queue);
    return { ...metricsOf(backlog), readyCount, delayedCount, leasedCount };
  }

  async #send(queue: string, partition: unknown, drafts: Draft[], batchDelay?: unknown): Promise<SendResponse> {
    const packed = packMessages(drafts, batchDelay);
    const where = partitionOf(partition ?? this.ctx.props.partition ?? DEFAULT_PARTITION);
    return { metadata: { metrics: metricsOf(await new DurableQueues(this.env).send(queue, where, packed)) } };
  }

  #permit(verb: QueueVerb): string {
    const { queue, verbs } = (this.ctx.props ?? {}) as Partial<QueueProps>;
    if (typeof queue !== "string" || queue === "") {
      throw new QueueError(10106, 'this binding names no queue; its props must be like { queue = "orders" }');
    }
    if (verbs !== undefined && !verbs.includes(verb)) {
      throw new QueueError(10106, `this binding may not ${verb}; its props allow ${verbs.join(", ")}`);
    }
    return queue;
  }
}

function metricsOf({ count, bytes, oldestAt }: Backlog): SendResponse["metadata"]["metrics"] {
  const metrics = { backlogCount: count, backlogBytes: bytes };
  return oldestAt === null ? metrics : { ...metrics, oldestMessageTimestamp: new Date(oldestAt) };
}

/** Options, of which none may be one that is not there: what is ignored today is missed tomorrow. */
function known(options: unknown, names: readonly string[]): Record<string, unknown> {
  if (options === null || options === undefined) return {};
  if (typeof options !== "object") throw new QueueError(10203, "the options of a send must be an object");
  const unknown = Object.keys(options).filter((name) => !names.includes(name));
  if (unknown.length === 0) return options as Record<string, unknown>;
  throw new QueueError(10203, `unknown option ${unknown.join(", ")}; there are ${names.join(", ")}`);
}

function draftsOf(messages: unknown): Draft[] {
  const isIterable = typeof messages === "object" && messages !== null && Symbol.iterator in messages;
  if (!isIterable)
    throw new QueueError(10206, "a batch must be an array or a Set of {body, contentType?, delaySeconds?}");
  return Array.from(messages as Iterable<unknown>, (message) => {
    if (typeof message === "object" && message !== null) return message as Draft;
    throw new QueueError(10208, "each message of a batch must be an object {body, contentType?, delaySeconds?}");
  });
}

function partitionOf(partition: unknown): string {
  if (typeof partition !== "string") throw new QueueError(10203, "the partition must be a string");
  const problem = nameProblem(partition);
  if (problem !== null) throw new QueueError(10203, `the partition ${problem}`);
  return partition;
}
