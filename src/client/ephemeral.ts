import type { Transport } from "./transport.ts";
import type {
  Abortable,
  AckOptions,
  Depth,
  ListedQueue,
  Message,
  Outcome,
  PopOptions,
  PushOptions,
  QueueOptions,
  Settled,
} from "./types.ts";
import { WaggleError } from "./error.ts";

const API = "/api/v1/ephemeral";
/** What the broker waits when it is not told. */
const WAIT_MS = 30_000;

/**
 * In-memory queues, as {@link Waggle.ephemeral}.
 *
 * ```ts
 * await waggle.ephemeral.push("presence", [{ user: "ada" }], { partition: "room-7" });
 * const { messages } = await waggle.ephemeral.pop("presence", { group: "ui-1", wait: true });
 * await waggle.ephemeral.ack("presence", messages, { group: "ui-1" });
 * ```
 */
export class Ephemeral {
  readonly #transport: Transport;
  readonly #newKey: () => string;

  constructor(transport: Transport, newKey: () => string) {
    this.#transport = transport;
    this.#newKey = newKey;
  }

  /** Appends payloads: each element *is* one payload, any value that JSON can hold. All or none. */
  push(queue: string, payloads: readonly unknown[], options: PushOptions = {}): Promise<{ pushed: number }> {
    return this.pushTexts(queue, payloads.map(jsonOf), options);
  }

  /** The same for payloads that are JSON already. */
  pushTexts(
    queue: string,
    texts: readonly string[],
    { partition, key = this.#newKey(), requireResponders, signal }: PushOptions = {},
  ): Promise<{ pushed: number }> {
    const head = JSON.stringify({ queue, partition, key: key ?? undefined, requireResponders });
    const messages = texts.map((text) => `{"payload":${text}}`).join(",");
    const body = `${head.slice(0, -1)},"messages":[${messages}]}`;
    return this.#transport.call({ method: "POST", path: `${API}/push`, body, isHarmless: key !== null, signal });
  }

  /**
   * Hands out messages; with `wait`, parks until there are some or the time is over, and then answers with none. Unless
   * `autoAck` is set they are leased, and come back when they are not acked in time.
   */
  pop<T = unknown>(queue: string, options: PopOptions = {}): Promise<{ queue: string; messages: Message<T>[] }> {
    return this.#transport.call(popCall(queue, options));
  }

  /** The same with a single try. */
  popOnce<T = unknown>(queue: string, options: PopOptions): Promise<{ queue: string; messages: Message<T>[] }> {
    return this.#transport.once(popCall(queue, options));
  }

  /**
   * Settles popped messages, or their ids. A message brings its `attempts` along, so that an ack that comes too late
   * cannot settle the delivery of somebody else.
   */
  ack(
    queue: string,
    messages: readonly (string | Settled)[],
    { group, status = "completed", signal }: AckOptions = {},
  ): Promise<{ results: { id: string; outcome: Outcome }[] }> {
    const acks = messages.map((message) => {
      const { id, attempts, status: own = status }: Settled = typeof message === "string" ? { id: message } : message;
      return { id, attempts, status: own };
    });
    // Handed back a second time by its id alone, a message could be taken away from whoever has it by then.
    const isHarmless = acks.every(({ attempts, status: own }) => attempts !== undefined || own === "completed");
    const body = JSON.stringify({ queue, group, acks });
    return this.#transport.call({ method: "POST", path: `${API}/ack`, body, isHarmless, signal });
  }

  /** Declares a queue with these options, in place of all earlier ones. */
  configure(
    queue: string,
    options: QueueOptions = {},
    { signal }: Abortable = {},
  ): Promise<{ queue: string; options: QueueOptions; declared: true }> {
    const body = JSON.stringify({ queue, options });
    return this.#transport.call({ method: "POST", path: `${API}/configure`, body, isHarmless: true, signal });
  }

  /** Drops every message and lease of a queue; groups, partitions and declaration stay. */
  reset(queue: string, { signal }: Abortable = {}): Promise<{ queue: string; dropped: number }> {
    const body = JSON.stringify({ queue });
    // A second one could drop what came after the first.
    return this.#transport.call({ method: "POST", path: `${API}/reset`, body, isHarmless: false, signal });
  }

  /** Removes a queue with its contents, groups and declaration. */
  delete(queue: string, { signal }: Abortable = {}): Promise<{ queue: string; deleted: boolean; declared: boolean }> {
    const path = `${API}/queue/${encodeURIComponent(queue)}`;
    return this.#transport.call({ method: "DELETE", path, isHarmless: false, signal });
  }

  /** Every queue that there is. */
  queues({ signal }: Abortable = {}): Promise<{ queues: ListedQueue[]; count: number; cellBytes: number }> {
    return this.#transport.call({ method: "GET", path: `${API}/queues`, isHarmless: true, signal });
  }

  /** How much waits in a queue; throws `ephemeral_queue_not_found`. */
  depth(queue: string, { group, signal }: Abortable & { group?: string } = {}): Promise<Depth> {
    const path = `${API}/queues/${encodeURIComponent(queue)}/depth${queryOf({ group })}`;
    return this.#transport.call({ method: "GET", path, isHarmless: true, signal });
  }

  /** Whether a push would find somebody: a parked pop, or one that came within 5 s. */
  async isListening(queue: string, options: Abortable & { partition?: string } = {}): Promise<boolean> {
    try {
      await this.push(queue, [], { ...options, key: null, requireResponders: true });
      return true;
    } catch (error) {
      if (error instanceof WaggleError && error.code === "no_responders") return false;
      throw error;
    }
  }
}

function popCall(queue: string, { wait = false, timeout = WAIT_MS, signal, ...options }: PopOptions) {
  const until = Date.now() + timeout;
  // A later try waits for what is left of the time.
  const path = () => {
    const waiting = wait ? { wait, timeout: Math.max(0, until - Date.now()) } : {};
    return `${API}/pop${queryOf({ queue, ...options, ...waiting })}`;
  };
  return { method: "GET" as const, path, waitMs: wait ? timeout : 0, isHarmless: true, signal };
}

function queryOf(parameters: Record<string, string | number | boolean | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? "" : `?${query}`;
}

/** A value as JSON, or an error that says that it is none. */
export function jsonOf(payload: unknown): string {
  const text = JSON.stringify(payload) as string | undefined;
  if (text === undefined) throw new TypeError(`a payload of type ${typeof payload} is not a value that JSON can hold`);
  return text;
}
