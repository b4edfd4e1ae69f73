import { WorkerEntrypoint } from "cloudflare:workers";
import * as z from "zod/mini";
import { Broker } from "../broker.ts";
import type { Env } from "../config.ts";
import { WaggleError } from "../contract/errors.ts";
import { DEFAULT_PARTITION, MAX_BODY_BYTES, MAX_ITEMS, MAX_WAIT_MS } from "../contract/limits.ts";
import { name } from "../contract/names.ts";
import { declaredOptions, type DeclaredOptions } from "../contract/options.ts";
import { parse } from "../contract/parse.ts";
import { ackStatus, groupOf } from "../contract/requests.ts";
import type { Outcome } from "../engine/engine.ts";
import type { Listing } from "../listing.ts";
import type { Depth } from "../objects/home.ts";
import { unpack } from "../objects/protocol.ts";

export type Verb = "push" | "pop" | "ack" | "configure" | "reset" | "delete" | "queues" | "depth";

/** What a binding may be confined to, in the `props` of its service binding: only who deploys can set them. */
export interface EphemeralProps {
  /** The only queue that this binding can reach; a trailing `*` stands for any rest. */
  queue?: string;
  /** The only verbs that it can use. */
  verbs?: Verb[];
}

export interface EphemeralMessage<T = unknown> {
  id: string;
  partition: string;
  /** 1 at the first delivery to this group. */
  attempts: number;
  payload: T;
}

export interface PopOptions {
  partition?: string;
  group?: string;
  /** 1 to 10,000 messages; 1 when absent. */
  batch?: number;
  /** Whether to wait for a message when there is none. */
  wait?: boolean;
  /** How long to wait, in ms, up to 300,000. */
  timeout?: number;
  /** Whether a message counts as consumed once it has been handed out. */
  autoAck?: boolean;
}

const popOptions = z.strictObject({
  partition: z.optional(name),
  group: z.optional(name),
  batch: z.optional(z.number().check(z.int(), z.minimum(1), z.maximum(MAX_ITEMS))),
  wait: z.optional(z.boolean()),
  timeout: z.optional(z.number().check(z.int(), z.minimum(0), z.maximum(MAX_WAIT_MS))),
  autoAck: z.optional(z.boolean()),
});

const pushOptions = z.strictObject({ partition: z.optional(name) });
const ackOptions = z.strictObject({
  group: z.optional(name),
  status: z.optional(z.enum(["completed", "retry", "failed"])),
});
const depthOptions = z.strictObject({ group: z.optional(name) });
const payloadList = z.array(z.unknown()).check(z.maxLength(MAX_ITEMS));
const acked = z
  .array(
    z.union([
      z.string(),
      z.object({
        id: z.string(),
        attempts: z.optional(z.number()),
        status: z.optional(z.enum(["completed", "retry", "failed"])),
      }),
    ]),
  )
  .check(z.maxLength(MAX_ITEMS));

/**
 * Ephemeral queues for Workers, through a service binding:
 *
 * ```toml
 * [[services]]
 * binding = "EPHEMERAL"
 * service = "waggle"
 * entrypoint = "Ephemeral"
 * props = { queue = "rpc-*", verbs = ["push", "pop", "ack"] }   # optional
 * ```
 *
 * Errors are `WaggleError`s with the `code` and `status` of the wire contract.
 */
export class Ephemeral extends WorkerEntrypoint<Env, EphemeralProps> {
  /** Appends payloads: each element *is* one payload, any value that JSON can hold. */
  async push(queue: string, payloads: unknown[], options: { partition?: string } = {}): Promise<{ pushed: number }> {
    this.#permit("push", queue);
    const { partition = DEFAULT_PARTITION } = parse(pushOptions, options);
    const texts = parse(payloadList, payloads).map(toJson);
    if (texts.reduce((sum, { length }) => sum + length, 0) > MAX_BODY_BYTES) {
      throw new WaggleError("payload_too_large", `the payloads are larger than ${MAX_BODY_BYTES} bytes together`);
    }
    await this.#broker.push(queue, texts, partition);
    return { pushed: texts.length };
  }

  /** Hands out messages; with `wait`, parks until there are some or the time is over, and then answers with none. */
  async pop<T = unknown>(
    queue: string,
    options: PopOptions = {},
  ): Promise<{ queue: string; messages: EphemeralMessage<T>[] }> {
    this.#permit("pop", queue);
    const { partition, group, batch = 1, wait = false, timeout, autoAck = false } = parse(popOptions, options);
    const broker = this.#broker;
    const answer = await broker.pop({
      queue,
      partition: partition ?? null,
      group: groupOf(group),
      batch,
      autoAck,
      waitMs: wait ? (timeout ?? broker.config.popTimeoutMs) : 0,
      waiterId: wait ? crypto.randomUUID() : "",
    });
    return { queue, messages: JSON.parse(`[${unpack(answer.json)}]`) as EphemeralMessage<T>[] };
  }

  /**
   * Settles popped messages, or their ids. A message brings its `attempts` along, so that an ack that comes too late
   * cannot settle the delivery of somebody else.
   */
  async ack(
    queue: string,
    messages: (string | { id: string; attempts?: number; status?: "completed" | "retry" | "failed" })[],
    options: { group?: string; status?: "completed" | "retry" | "failed" } = {},
  ): Promise<{ results: { id: string; outcome: Outcome }[] }> {
    this.#permit("ack", queue);
    const { group, status } = parse(ackOptions, options);
    const acks = parse(acked, messages).map((message) => {
      const { id, attempts, status: own }: { id: string; attempts?: number | undefined; status?: string | undefined } =
        typeof message === "string" ? { id: message } : message;
      return { id, attempts, status: ackStatus(own ?? status) };
    });
    const outcomes = await this.#broker.ack(queue, groupOf(group), acks);
    return { results: acks.map(({ id }, index) => ({ id, outcome: outcomes[index] ?? "unknown" })) };
  }

  /** Declares a queue with these options, in place of all earlier ones. */
  async configure(
    queue: string,
    options: DeclaredOptions = {},
  ): Promise<{ queue: string; options: DeclaredOptions; declared: true }> {
    this.#permit("configure", queue);
    await this.#broker.configure(queue, parse(declaredOptions, options));
    return { queue, options, declared: true };
  }

  /** Drops every message and lease of a queue. */
  async reset(queue: string): Promise<{ queue: string; dropped: number }> {
    this.#permit("reset", queue);
    return { queue, dropped: await this.#broker.reset(queue) };
  }

  /** Removes a queue with its contents, groups and declaration. */
  async delete(queue: string): Promise<{ queue: string; deleted: boolean; declared: boolean }> {
    this.#permit("delete", queue);
    return { queue, ...(await this.#broker.delete(queue)) };
  }

  /** Every queue that this binding can reach. */
  async queues(): Promise<Listing> {
    this.#permit("queues", null);
    const { queues } = await this.#broker.queues();
    const reachable = queues.filter(({ queue }) => this.#reaches(queue));
    return {
      queues: reachable,
      count: reachable.length,
      cellBytes: reachable.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  /** How much waits in a queue. */
  async depth(queue: string, options: { group?: string } = {}): Promise<Depth> {
    this.#permit("depth", queue);
    const { group } = parse(depthOptions, options);
    return this.#broker.depth(queue, group ?? null);
  }

  get #broker(): Broker {
    return new Broker(this.env);
  }

  #permit(verb: Verb, queue: string | null): void {
    if (queue !== null) parse(z.object({ queue: name }), { queue });
    const { verbs } = this.ctx.props ?? {};
    if (verbs !== undefined && !verbs.includes(verb)) {
      throw new WaggleError("forbidden", `this binding may not ${verb}; its props allow ${verbs.join(", ")}`);
    }
    if (queue !== null && !this.#reaches(queue)) {
      throw new WaggleError(
        "forbidden",
        `this binding reaches only the queue ${JSON.stringify(this.ctx.props.queue)}, not ${JSON.stringify(queue)}`,
      );
    }
  }

  #reaches(queue: string): boolean {
    const only = this.ctx.props?.queue;
    if (only === undefined) return true;
    return only.endsWith("*") ? queue.startsWith(only.slice(0, -1)) : queue === only;
  }
}

function toJson(payload: unknown, index: number): string {
  const text = payload === undefined ? undefined : JSON.stringify(payload);
  if (text !== undefined) return text;
  throw new WaggleError("ephemeral_bad_request", `payloads[${index}] is not a value that JSON can hold`);
}
