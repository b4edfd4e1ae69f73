/** What one call takes at most: well below the 10,000 items and the 16 MiB of a body. */
const MAX_ITEMS = 500;
const MAX_CHARS = 1024 * 1024;

interface Waiting<T> {
  item: T;
  chars: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Sends what belongs into the same call together: what comes in one turn, and what comes while as many calls are out as
 * may be. Alone, an item goes out at once.
 */
export class Gather<T> {
  readonly #send: (items: T[]) => Promise<unknown>;
  readonly #maxCalls: number;
  #waiting: Waiting<T>[] = [];
  #calls = 0;
  #isScheduled = false;

  constructor(send: (items: T[]) => Promise<unknown>, maxCalls: number) {
    this.#send = send;
    this.#maxCalls = maxCalls;
  }

  get isIdle(): boolean {
    return this.#calls === 0 && this.#waiting.length === 0;
  }

  /** Resolves once the call that the item went out with has been answered. */
  add(item: T, chars = 0): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, chars, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      while (this.#waiting.length > 0 && this.#calls < this.#maxCalls) void this.#sendNext();
    });
  }

  async #sendNext(): Promise<void> {
    const sent = this.#waiting.splice(0, this.#fitting());
    this.#calls++;
    try {
      await this.#send(sent.map(({ item }) => item));
      for (const { resolve } of sent) resolve();
    } catch (error) {
      for (const { reject } of sent) reject(error);
    } finally {
      this.#calls--;
      this.#schedule();
    }
  }

  #fitting(): number {
    let total = 0;
    const end = this.#waiting.findIndex(({ chars }, index) => {
      total += chars;
      return index === MAX_ITEMS || (index > 0 && total > MAX_CHARS);
    });
    return end < 0 ? this.#waiting.length : end;
  }
}

/** JSON texts for queues by name: one {@link Gather} for each name that is in use. */
export class Gathers {
  readonly #send: (name: string, texts: string[]) => Promise<unknown>;
  readonly #maxCalls: number;
  readonly #gathers = new Map<string, Gather<string>>();

  constructor(send: (name: string, texts: string[]) => Promise<unknown>, maxCalls: number) {
    this.#send = send;
    this.#maxCalls = maxCalls;
  }

  async add(name: string, text: string): Promise<void> {
    let gather = this.#gathers.get(name);
    if (gather === undefined) {
      gather = new Gather((texts) => this.#send(name, texts), this.#maxCalls);
      this.#gathers.set(name, gather);
    }
    try {
      await gather.add(text, text.length);
    } finally {
      // Inboxes come and go.
      if (gather.isIdle && this.#gathers.get(name) === gather) this.#gathers.delete(name);
    }
  }
}
