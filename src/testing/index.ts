import { run } from "../consumer/run.ts";
import { fold } from "../delivery/fold.ts";
import type { TakenMessage, TestingBinding } from "./protocol.ts";

export { waggle, type BrokerWorker } from "./config.ts";
export type { TakenMessage, TestingBinding } from "./protocol.ts";

const POLL_MS = 20;
const PATIENCE_MS = 5000;

/** A Worker whose handler is to be run, as it is exported. */
interface Consumer<Env> {
  queue?(batch: MessageBatch, env: Env, ctx: ExecutionContext): unknown;
}

/** What a delivery came to. */
export interface Delivered {
  /** How many messages the handler was given; 0 = there was nothing to deliver, and it was not called. */
  messages: number;
  acked: number;
  retried: number;
  /** Why the handler failed; null = it succeeded. */
  error: string | null;
}

/** The broker, from within a test: `env.WAGGLE` is a binding of its entrypoint `Testing`. */
export class WaggleUnderTest {
  readonly #broker: TestingBinding;

  constructor(binding: unknown) {
    this.#broker = binding as TestingBinding;
  }

  /**
   * Declares a durable queue that a test delivers from. `settings` are those of a pull consumer:
   * `{dead_letter_queue?, settings?: {batch_size?, max_retries?, retry_delay?}}`.
   */
  async declare(queue: string, settings: object = {}): Promise<void> {
    await this.#broker.declare(queue, settings);
  }

  /**
   * Runs a `queue()` handler of the test's own isolate on the next batch of a durable queue, and acks and retries what it
   * says, as the broker itself would.
   */
  async deliver<Env>(
    queue: string,
    worker: Consumer<Env>,
    env: Env,
    ctx: ExecutionContext,
    { batchSize = 10 }: { batchSize?: number } = {},
  ): Promise<Delivered> {
    const { queue: handler } = worker;
    if (handler === undefined) throw new TypeError("the Worker has no queue() handler");
    const taken = await this.#broker.take(queue, batchSize);
    if (taken.length === 0) return { messages: 0, acked: 0, retried: 0, error: null };
    const metrics = { backlogCount: await this.#broker.backlog(queue), backlogBytes: 0 };
    const batch = { queue, messages: taken.map(plain), metadata: { metrics } };
    const { calls, error } = await run(batch, ctx, (given, watched) => handler.call(worker, given, env, watched));
    const decisions = fold(taken.length, calls, error !== null);
    await this.#broker.settle(
      queue,
      taken.map(({ leaseId }, index) => {
        const decision = decisions[index];
        return { leaseId, retry: decision?.kind === "retry" ? { delaySeconds: decision.delaySeconds } : null };
      }),
    );
    const acked = decisions.filter(({ kind }) => kind === "ack").length;
    return { messages: taken.length, acked, retried: taken.length - acked, error };
  }

  /** How many messages a durable queue holds. */
  backlog(queue: string): Promise<number> {
    return this.#broker.backlog(queue);
  }

  /** Resolves once a queue holds nothing any more; rejects after `timeoutMs`. */
  async drained(queue: string, { ephemeral = false, timeoutMs = PATIENCE_MS } = {}): Promise<void> {
    const held = () => (ephemeral ? this.#broker.ephemeralBacklog(queue) : this.#broker.backlog(queue));
    const until = Date.now() + timeoutMs;
    for (;;) {
      const count = await held();
      if (count === 0) return;
      if (Date.now() >= until)
        throw new Error(`after ${timeoutMs} ms the queue ${queue} still holds ${count} messages`);
      await scheduler.wait(POLL_MS);
    }
  }

  /** Every object of the broker goes and comes back, once everything is on its disk: what sleep and a deploy do. */
  evict(): Promise<void> {
    return this.#broker.evict();
  }

  /** Every object is stopped at once: what a crash does. Ephemeral messages of the last moments may be missing. */
  crash(): Promise<void> {
    return this.#broker.crash();
  }
}

function plain({ id, timestamp, attempts, body }: TakenMessage) {
  return { id, timestamp, attempts, body };
}
