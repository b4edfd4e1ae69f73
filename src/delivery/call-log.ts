import { RpcStub } from "cloudflare:workers";
import type { Call, PlainBatch, PlainMessage } from "./protocol.ts";
import { retryDelay } from "./retry-delay.ts";

type Callback = (options?: unknown) => void;

/** What an unmodified `queue()` handler is given: each function in it arrives there as a stub that calls back. */
export interface HandlerBatch extends Omit<PlainBatch, "messages"> {
  messages: (PlainMessage & { ack: Callback; retry: Callback })[];
  ackAll: Callback;
  retryAll: Callback;
}

/** Bindings whose consumers' calls have arrived too late once. */
const unordered = new Set<string>();

/**
 * The calls of one handler on its batch.
 *
 * Nobody awaits an `ack()`, so calls arrive after the handler's end, and something must tell when all have. The disposer of
 * a function runs once the other side holds it no more, which the end of the handler brings about. One on each function
 * would do, since a call holds its function until it is answered, but each is an event of its own: at 100 messages, three
 * quarters of what a delivery costs. So there is one, and after it a call from here to here, which comes in behind those
 * that were on their way: calls run in the order in which they were made, and `fold` rests on that anyway. Should one
 * arrive later nevertheless, it is logged, and from then on each function of that consumer has its disposer.
 */
export class CallLog {
  readonly calls: Call[] = [];
  /** Resolves once no call is on its way any more. */
  readonly complete: Promise<void>;
  readonly #binding: string;
  readonly #holdsEach: boolean;
  readonly #whenComplete: () => void;
  #held = 0;
  #state: "open" | "closed" | "abandoned" = "open";

  constructor(binding: string) {
    this.#binding = binding;
    this.#holdsEach = unordered.has(binding);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.complete = promise;
    this.#whenComplete = resolve;
  }

  /** The batch with its functions. */
  handlerBatch({ queue, messages, metadata }: PlainBatch): HandlerBatch {
    const batch = {
      queue,
      messages: messages.map((message, index) => ({ ...message, ack: this.#ack(index), retry: this.#retry(index) })),
      metadata,
      ackAll: this.#ack(null),
      retryAll: this.#retry(null),
    };
    if (!this.#holdsEach) this.#hold(batch.ackAll);
    return batch;
  }

  /** No call counts from now on. `abandoned` = the handler may still run, so that calls are to be expected. */
  close(state: "closed" | "abandoned"): void {
    this.#state = state;
  }

  #ack(message: number | null): Callback {
    return this.#callback(() => this.#take({ kind: "ack", message, delaySeconds: null }));
  }

  #retry(message: number | null): Callback {
    return this.#callback((options) => {
      const call: Call = { kind: "retry", message, delaySeconds: null };
      // It counts even if its delay is none; the error shows in the consumer's log.
      this.#take(call);
      call.delaySeconds = retryDelay(options);
    });
  }

  #callback(callback: Callback): Callback {
    if (this.#holdsEach) this.#hold(callback);
    return callback;
  }

  #hold(callback: Callback): void {
    this.#held++;
    Object.assign(callback, {
      [Symbol.dispose]: () => {
        if (--this.#held === 0) void this.#fence();
      },
    });
  }

  async #fence(): Promise<void> {
    try {
      using fence = new RpcStub(() => {});
      await fence();
    } finally {
      this.#whenComplete();
    }
  }

  #take(call: Call): void {
    if (this.#state === "open") this.calls.push(call);
    if (this.#state !== "closed") return;
    unordered.add(this.#binding);
    console.error(
      `a consumer (${this.#binding}) decided about a message after the end of its handler, which cannot count; waggle-mq/consumer takes such decisions`,
    );
  }
}
