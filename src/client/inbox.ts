import { WaggleError } from "./error.ts";
import type { Ephemeral } from "./ephemeral.ts";
import { randomId } from "./ids.ts";
import { delayBefore, isPassing, sleep } from "./retry.ts";

const POLL_MS = 30_000;
/** How long an inbox with nothing to wait for keeps its long poll: the next request finds it, and a program can end. */
const LINGER_MS = 2000;
/** At most once: whoever misses a reply asks again. The whole inbox is in one place. */
const POP = { partition: "Default", batch: 1000, autoAck: true };

/** What a responder answers: the request's id, and a payload or what went wrong. */
export interface Reply {
  correlationId: string;
  payload?: unknown;
  error?: string;
}

interface Waiting {
  resolve: (payload: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Where the replies to a client arrive: a queue of its own, one long poll for however many requests are waiting, and each
 * reply finds its request by its correlation id. Replies that nobody waits for any more are dropped.
 *
 * A long poll that has ended here may stand at the broker for a while longer, and would take what comes next with it into
 * nowhere: an inbox that has been left, or whose connection has failed, is used for no further request.
 */
export class Inbox {
  readonly queue: string;
  readonly #ephemeral: Ephemeral;
  readonly #waiting = new Map<string, Waiting>();
  readonly #polling = new AbortController();
  /** Resolves when the broker knows that somebody listens. */
  readonly #opened: Promise<void>;
  #isUsable = true;
  #linger: ReturnType<typeof setTimeout> | null = null;
  #nextId = 0;

  constructor(ephemeral: Ephemeral, queue: string) {
    this.#ephemeral = ephemeral;
    this.queue = queue;
    this.#opened = this.#announce();
    this.#opened.then(() => this.#poll()).catch((error: unknown) => this.end(error));
  }

  /** Whether replies to further requests may be expected here. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Whether a request still waits for its reply here. */
  get isBusy(): boolean {
    return this.#waiting.size > 0;
  }

  /**
   * Waits for one reply. `send` is given the correlation id, once a reply to it would arrive; what it throws ends the
   * waiting.
   */
  async expect(
    send: (correlationId: string) => Promise<unknown>,
    { timeout, signal }: { timeout: number; signal: AbortSignal | undefined },
  ): Promise<unknown> {
    const id = (this.#nextId++).toString(36);
    this.#stay();
    let forget = nothing;
    try {
      return await new Promise((resolve, reject) => {
        const late = () => reject(new WaggleError(`no reply within ${timeout} ms`, { code: "no_reply" }));
        const leave = () => reject(signal?.reason);
        const timer = setTimeout(late, timeout);
        signal?.addEventListener("abort", leave);
        forget = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", leave);
        };
        this.#waiting.set(id, { resolve, reject });
        this.#opened.then(() => this.#waiting.has(id) && send(id)).catch(reject);
      });
    } finally {
      forget();
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#lingerOn();
    }
  }

  /** Ends the long poll, and everything that waits. */
  end(reason: unknown): void {
    this.#stay();
    this.#isUsable = false;
    this.#polling.abort(reason);
    for (const { reject } of this.#waiting.values()) reject(reason);
  }

  #lingerOn(): void {
    this.#stay();
    this.#linger = setTimeout(() => this.end(null), this.#isUsable ? LINGER_MS : 0);
  }

  #stay(): void {
    if (this.#linger !== null) clearTimeout(this.#linger);
    this.#linger = null;
  }

  /** A reply is refused where nobody listens: the first pop is answered before the first request goes out. */
  async #announce(): Promise<void> {
    await this.#ephemeral.pop<Reply>(this.queue, { ...POP, signal: this.#polling.signal });
  }

  async #poll(): Promise<void> {
    const { signal } = this.#polling;
    for (let failures = 0; !signal.aborted;) {
      try {
        const waiting = { wait: true, timeout: POLL_MS, signal };
        const { messages } = await this.#ephemeral.popOnce<Reply>(this.queue, { ...POP, ...waiting });
        for (const { payload } of messages) this.#deliver(payload);
        failures = 0;
      } catch (error) {
        this.#isUsable = false;
        if (!isPassing(error)) throw error;
        await sleep(delayBefore(++failures, error), signal);
      }
    }
  }

  #deliver({ correlationId, payload, error }: Reply): void {
    const waiting = this.#waiting.get(correlationId);
    if (error === undefined) waiting?.resolve(payload);
    else waiting?.reject(new WaggleError(error, { code: "responder_failed" }));
  }
}

function nothing(): void {}

/** The inbox that is in use, and those that still wait for what was asked before. */
export class Inboxes {
  readonly #ephemeral: Ephemeral;
  #inbox: Inbox | null = null;
  readonly #inUse = new Set<Inbox>();
  readonly #prefix: string;

  constructor(ephemeral: Ephemeral, prefix: string) {
    this.#ephemeral = ephemeral;
    this.#prefix = prefix;
  }

  /** Sends a request by `send` and waits for its reply; see {@link Inbox.expect}. */
  async expect(
    send: (replyTo: string, correlationId: string) => Promise<unknown>,
    options: { timeout: number; signal: AbortSignal | undefined },
  ): Promise<unknown> {
    options.signal?.throwIfAborted();
    let inbox = this.#inbox;
    if (inbox === null || !inbox.isUsable) {
      for (const other of this.#inUse) if (!other.isBusy) this.#inUse.delete(other);
      inbox = new Inbox(this.#ephemeral, this.#prefix + randomId());
      this.#inbox = inbox;
      this.#inUse.add(inbox);
    }
    const { queue } = inbox;
    return inbox.expect((id) => send(queue, id), options);
  }

  end(): void {
    const reason = new WaggleError("this client has been closed", { code: "closed" });
    for (const inbox of this.#inUse) inbox.end(reason);
    this.#inUse.clear();
    this.#inbox = null;
  }
}
