import type { Ephemeral } from "./ephemeral.ts";
import { Gather } from "./gather.ts";
import { delayBefore, isPassing, sleep } from "./retry.ts";
import type { Abortable, Message, PopOptions, Settled } from "./types.ts";

/** How long a pop is parked: each is a request that is paid for, and no proxy minds a wait that long. */
const POLL_MS = 30_000;
/** A pop that comes back with nothing sooner than this has not waited: the next one does not follow at once. */
const HASTE_MS = 100;
const MAX_ACK_CALLS = 2;

export interface ConsumeOptions extends Abortable {
  /** Consumers that share a group share the messages; absent = queue mode. */
  group?: string;
  /** Absent = any partition. */
  partition?: string;
  /** How many messages are taken at once, 10 when absent: all of them are to be handled within the queue's lease. */
  batch?: number;
  /** How many messages are handled at the same time; 1 when absent, which keeps them in order within a partition. */
  concurrency?: number;
  /** Hears what the handler throws, and acks that did not get through; `console.error` when absent. */
  onError?: (error: unknown) => void;
}

/** Takes messages from a queue for as long as its signal allows, and hands them to a handler. */
export class Consumer<T> {
  readonly #ephemeral: Ephemeral;
  readonly #queue: string;
  readonly #from: Pick<PopOptions, "group" | "partition">;
  readonly #signal: AbortSignal | undefined;
  readonly #batch: number;
  readonly #concurrency: number;
  readonly #onError: (error: unknown) => void;
  readonly #handler: (message: Message<T>) => unknown;
  readonly #acks: Gather<Settled>;
  readonly #acking = new Set<Promise<void>>();
  #backlog: Message<T>[] = [];
  #running = 0;
  /** Called when a message has been handled. */
  #handled: () => void = () => {};

  constructor(
    ephemeral: Ephemeral,
    queue: string,
    { signal, batch = 10, concurrency = 1, onError = (error) => console.error(error), ...from }: ConsumeOptions,
    handler: (message: Message<T>) => unknown,
  ) {
    this.#ephemeral = ephemeral;
    this.#queue = queue;
    this.#from = from;
    this.#signal = signal;
    this.#batch = batch;
    this.#concurrency = concurrency;
    this.#onError = onError;
    this.#handler = handler;
    this.#acks = new Gather((messages) => ephemeral.ack(queue, messages, from), MAX_ACK_CALLS);
  }

  get #inHand(): number {
    return this.#backlog.length + this.#running;
  }

  /**
   * Resolves once the signal is aborted and everything in hand has been handled and acked; rejects when the broker
   * refuses for good. Whatever passes is tried again, for as long as it takes.
   */
  async run(): Promise<void> {
    let failures = 0;
    try {
      while (!this.#signal?.aborted) {
        failures = (await this.#poll(failures)) ? 0 : failures + 1;
        // What is in hand is leased: no more is taken before somebody is there for it.
        await this.#handledDownTo(this.#concurrency - 1);
      }
    } catch (error) {
      if (!this.#signal?.aborted) throw error;
    } finally {
      await this.#handledDownTo(0);
      await Promise.all(this.#acking);
    }
  }

  /** Takes messages once. Answers false when the broker could not be asked. */
  async #poll(failures: number): Promise<boolean> {
    const signal = this.#signal;
    const room = Math.max(this.#batch, this.#concurrency) - this.#inHand;
    const startedAt = Date.now();
    try {
      const wanted = { batch: Math.min(room, this.#batch), wait: true, timeout: POLL_MS, signal };
      const { messages } = await this.#ephemeral.popOnce<T>(this.#queue, { ...this.#from, ...wanted });
      this.#backlog.push(...messages);
      this.#handleNext();
      if (messages.length === 0 && Date.now() - startedAt < HASTE_MS) await sleep(HASTE_MS, signal);
      return true;
    } catch (error) {
      if (!isPassing(error)) throw error;
      await sleep(delayBefore(failures + 1, error), signal);
      return false;
    }
  }

  async #handledDownTo(count: number): Promise<void> {
    while (this.#inHand > count) {
      await new Promise<void>((resolve) => {
        this.#handled = resolve;
      });
    }
  }

  #handleNext(): void {
    while (this.#running < this.#concurrency) {
      const message = this.#backlog.shift();
      if (message === undefined) return;
      void this.#handle(message);
    }
  }

  async #handle(message: Message<T>): Promise<void> {
    const { id, attempts } = message;
    this.#running++;
    let status: Settled["status"] = "completed";
    try {
      await this.#handler(message);
    } catch (error) {
      status = "retry";
      this.#onError(error);
    }
    this.#running--;
    this.#ack({ id, attempts, status });
    this.#handleNext();
    this.#handled();
  }

  /** Nothing waits for an ack but the end: what is not acked in time is delivered again. */
  #ack(settled: Settled): void {
    const acking = this.#acks
      .add(settled)
      .catch(this.#onError)
      .finally(() => this.#acking.delete(acking));
    this.#acking.add(acking);
  }
}
