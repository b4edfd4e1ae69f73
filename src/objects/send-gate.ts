import type { PackedMessages } from "../durable/message.ts";

interface Waiting<Answer> {
  packed: PackedMessages;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * Gathers what is sent while the disk is busy. Every turn that writes costs one flush of the disk, and the platform does not
 * put the writes of several requests together; so what arrives during a flush is stored together after it. The first one
 * never waits.
 */
export class SendGate<Answer> {
  readonly #storage: DurableObjectStorage;
  readonly #store: (packed: PackedMessages[]) => Answer;
  #waiting: Waiting<Answer>[] = [];
  /** Bytes of bodies that wait for the disk. */
  waitingBytes = 0;
  #isFlushing = false;

  /** `store` writes messages in one turn, and answers what each of their senders is told. */
  constructor(storage: DurableObjectStorage, store: (packed: PackedMessages[]) => Answer) {
    this.#storage = storage;
    this.#store = store;
  }

  /** Resolves when the messages have been written; that they are on the disk is what the answer itself waits for. */
  send(packed: PackedMessages): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.push({ packed, resolve, reject });
    this.waitingBytes += packed.bodies.byteLength;
    if (!this.#isFlushing) this.#flush();
    return promise;
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.waitingBytes = 0;
    try {
      const answer = this.#store(waiting.map(({ packed }) => packed));
      for (const { resolve } of waiting) resolve(answer);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
      return;
    }
    void this.#flushed();
  }

  async #flushed(): Promise<void> {
    this.#isFlushing = true;
    // A flush that fails takes the object down with it, and with that everybody who waits here.
    await this.#storage.sync();
    this.#isFlushing = false;
    if (this.#waiting.length > 0) this.#flush();
  }
}
