import type { Message } from "./support.ts";

/** Numbers from a seed, so that a run that failed can be tried again with the same choices. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `low` to `high`. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)] as T;
  }
}

/** What every message says about itself. */
export interface Content {
  producer: number;
  /** Counts the producer's messages to this partition. */
  n: number;
}

export interface Pushed extends Content {
  queue: string;
  partition: string;
  /** When the push was answered with success, and in which life of the broker. */
  answeredAt: number;
  life: number;
}

export interface Delivered extends Content {
  queue: string;
  partition: string;
  group: string;
  attempts: number;
  /** In which life of the broker. */
  life: number;
  /** Steps of the load's own clock: before the pop was sent, and after it was answered. */
  askedAt: number;
  heardAt: number;
  /** Its place in the answer. */
  place: number;
}

/** Where the broker is reached right now; a restart gives it another address and another number. */
export interface Address {
  url: string;
  life: number;
}

const RETRY_MS = 15;
const REQUEST_MS = 10_000;

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

interface Answer {
  body: unknown;
  life: number;
}

/** Clients that push, pop and ack without a pause, whatever happens to the broker, and write down what they were told. */
export class Load {
  readonly pushed: Pushed[] = [];
  readonly delivered: Delivered[] = [];
  /** Requests that had to be sent again. */
  retries = 0;
  readonly #address: Address;
  readonly #random: Random;
  readonly #running: Promise<void>[] = [];
  readonly #counts = new Map<string, number>();
  #clock = 0;
  #isOver = false;

  constructor(address: Address, random: Random) {
    this.#address = address;
    this.#random = random;
  }

  /** Sends until there is an answer. 503 is the broker's word for "try again"; everything else is a failure. */
  async request(path: string, body?: unknown): Promise<Answer> {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    for (;;) {
      const { url, life } = this.#address;
      try {
        const response = await fetch(`${url}/api/v1/ephemeral/${path}`, {
          ...init,
          signal: AbortSignal.timeout(REQUEST_MS),
        });
        const text = await response.text();
        if (response.ok) return { body: JSON.parse(text), life };
        if (response.status !== 503) throw new UnexpectedAnswer(`${path}: ${response.status} ${text}`);
      } catch (error) {
        if (error instanceof UnexpectedAnswer) throw error;
        // A broker that answers nobody is no broker that has been killed.
        if (error instanceof DOMException && error.name === "TimeoutError") throw error;
      }
      this.retries++;
      await sleep(RETRY_MS);
    }
  }

  /** Runs `step` over and over until the load is stopped. */
  #loop(step: () => Promise<void>, pauseMs: number): void {
    const loop = async () => {
      while (!this.#isOver) {
        await step();
        await sleep(this.#random.next() * pauseMs);
      }
    };
    this.#running.push(loop());
  }

  /** Lets everybody finish what they are at. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  /** Fails as soon as one of the clients does. */
  get failure(): Promise<never> {
    return Promise.all(this.#running).then(() => new Promise<never>(() => {}));
  }

  /** Pushes to one of `partitions` after the other; each push waits for the answer to the one before. */
  produce(producer: number, queue: string, partitions: readonly string[], pauseMs: number): void {
    this.#loop(async () => {
      const partition = this.#random.pick(partitions);
      const contents = Array.from({ length: this.#random.between(1, 4) }, () =>
        this.#content(producer, queue, partition),
      );
      const messages = contents.map((payload) => ({ payload }));
      const { life } = await this.request("push", { queue, partition, messages });
      const answeredAt = Date.now();
      for (const content of contents) this.pushed.push({ ...content, queue, partition, answeredAt, life });
    }, pauseMs);
  }

  #content(producer: number, queue: string, partition: string): Content {
    const key = `${producer} ${queue} ${partition}`;
    const n = this.#counts.get(key) ?? 0;
    this.#counts.set(key, n + 1);
    return { producer, n };
  }

  /** Pops partition by partition. */
  consumeNamed(queue: string, group: string, partitions: readonly string[], pauseMs: number): void {
    this.#loop(async () => {
      const partition = this.#random.pick(partitions);
      const messages = await this.pop(queue, group, `partition=${partition}&batch=${this.#random.between(1, 20)}`);
      await this.#ackMost(queue, group, messages);
    }, pauseMs);
  }

  /** Waits for messages of any partition. */
  consumeAny(queue: string, group: string, pauseMs: number): void {
    this.#loop(async () => {
      const messages = await this.pop(queue, group, `batch=${this.#random.between(1, 50)}&wait=true&timeout=400`);
      await this.#ackMost(queue, group, messages);
    }, pauseMs);
  }

  async pop(queue: string, group: string, query: string): Promise<Message[]> {
    const askedAt = this.#clock++;
    const { body, life } = await this.request(`pop?queue=${queue}&group=${group}&${query}`);
    const heardAt = this.#clock++;
    const { messages } = body as { messages: Message[] };
    messages.forEach(({ partition, attempts, payload }, place) => {
      const content = payload as Content;
      this.delivered.push({ ...content, queue, partition, group, attempts, life, askedAt, heardAt, place });
    });
    return messages;
  }

  /** Most messages are settled; some are handed back, some forgotten until their lease runs out. */
  async #ackMost(queue: string, group: string, messages: readonly Message[]): Promise<void> {
    const acks = messages.flatMap(({ id, attempts }) => {
      const fate = this.#random.next();
      if (fate < 0.03) return [];
      return [{ id, attempts, status: fate < 0.08 ? "retry" : "completed" }];
    });
    if (acks.length > 0) await this.request("ack", { queue, group, acks });
  }

  /** Takes everything that a group is still owed. `waitMs` must be longer than a lease. */
  async drain(queue: string, group: string, waitMs: number): Promise<void> {
    for (;;) {
      const messages = await this.pop(queue, group, `batch=500&wait=true&timeout=${waitMs}`);
      if (messages.length === 0) return;
      await this.request("ack", { queue, group, acks: messages.map(({ id }) => ({ id })) });
    }
  }
}

class UnexpectedAnswer extends Error {}
