import { WorkerEntrypoint } from "cloudflare:workers";
import * as z from "zod/mini";
import { Broker } from "../broker.ts";
import type { Env } from "../config.ts";
import { WaggleError } from "../contract/errors.ts";
import { DEFAULT_PARTITION, MAX_BODY_BYTES, MAX_ITEMS, MAX_WAIT_MS } from "../contract/limits.ts";
import { name, pushKey } from "../contract/names.ts";
import { declaredOptions } from "../contract/options.ts";
import { parse } from "../contract/parse.ts";
import { ackStatus, groupOf } from "../contract/requests.ts";
import type { Listing } from "../listing.ts";
import { unpack } from "../objects/protocol.ts";
import type { EphemeralBinding, EphemeralMessage, EphemeralProps, PopOptions, Settled, Verb } from "./binding.ts";

const popOptions = z.strictObject({
  partition: z.optional(name),
  group: z.optional(name),
  batch: z.optional(z.number().check(z.int(), z.minimum(1), z.maximum(MAX_ITEMS))),
  wait: z.optional(z.boolean()),
  timeout: z.optional(z.number().check(z.int(), z.minimum(0), z.maximum(MAX_WAIT_MS))),
  autoAck: z.optional(z.boolean()),
});

const pushOptions = z.strictObject({
  partition: z.optional(name),
  key: z.optional(pushKey),
  requireResponders: z.optional(z.boolean()),
});
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
 * Ephemeral queues for Workers, through a service binding; {@link EphemeralBinding} says what each method does.
 *
 * ```toml
 * [[services]]
 * binding = "EPHEMERAL"
 * service = "waggle"
 * entrypoint = "Ephemeral"
 * props = { queue = "rpc-*", verbs = ["push", "pop", "ack"] }   # optional
 * ```
 */
export class Ephemeral extends WorkerEntrypoint<Env, EphemeralProps> implements EphemeralBinding {
  async push(...[queue, payloads, options = {}]: Parameters<EphemeralBinding["push"]>) {
    this.#permit("push", queue);
    const { partition = DEFAULT_PARTITION, ...asked } = parse(pushOptions, options);
    const texts = parse(payloadList, payloads).map(toJson);
    if (texts.reduce((sum, { length }) => sum + length, 0) > MAX_BODY_BYTES) {
      throw new WaggleError("payload_too_large", `the payloads are larger than ${MAX_BODY_BYTES} bytes together`);
    }
    return { pushed: await this.#broker.push(queue, texts, partition, false, asked) };
  }

  async pop<T = unknown>(queue: string, options: PopOptions = {}) {
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

  async ack(...[queue, messages, options = {}]: Parameters<EphemeralBinding["ack"]>) {
    this.#permit("ack", queue);
    const { group, status } = parse(ackOptions, options);
    const acks = parse(acked, messages).map((message) => {
      const { id, attempts, status: own } = (typeof message === "string" ? { id: message } : message) as Settled;
      return { id, attempts, status: ackStatus(own ?? status) };
    });
    const outcomes = await this.#broker.ack(queue, groupOf(group), acks);
    return { results: acks.map(({ id }, index) => ({ id, outcome: outcomes[index] ?? "unknown" })) };
  }

  async configure(...[queue, options = {}]: Parameters<EphemeralBinding["configure"]>) {
    this.#permit("configure", queue);
    await this.#broker.configure(queue, parse(declaredOptions, options));
    return { queue, options, declared: true as const };
  }

  async reset(queue: string) {
    this.#permit("reset", queue);
    return { queue, dropped: await this.#broker.reset(queue) };
  }

  async delete(queue: string) {
    this.#permit("delete", queue);
    return { queue, ...(await this.#broker.delete(queue)) };
  }

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

  async depth(...[queue, options = {}]: Parameters<EphemeralBinding["depth"]>) {
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
