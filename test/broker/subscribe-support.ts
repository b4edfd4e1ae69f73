import { afterEach, expect } from "vitest";
import { call, freshQueue, owners, partitionAway, type AckEntry, type Parameters, type Popped } from "./support.ts";

type Frame = { type: string; ref?: unknown; messages?: Popped[] } & Record<string, unknown>;

const open = new Set<Subscriber>();

/** No test leaves a subscriber to the next, in each file that calls this: files share this module, and hooks are a file's own. */
export function subscribersEndWithTheirTest(): void {
  afterEach(async () => {
    for (const subscriber of open) subscriber.close();
    open.clear();
    await subscribed(0);
  });
}

/** Waits until there are that many subscribers, over all owners. */
export async function subscribed(count: number): Promise<void> {
  await expect.poll(countSubscribers, { interval: 10, timeout: 20_000 }).toBe(count);
}

async function countSubscribers(): Promise<number> {
  return (await owners()).reduce((sum, { subscribers }) => sum + subscribers, 0);
}

/** A client of one WebSocket. */
export class Subscriber {
  readonly frames: Frame[] = [];
  /** The texts of all frames, as they came. */
  readonly texts: string[] = [];
  readonly messages: Popped[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #socket: WebSocket;
  #refs = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    const { promise, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
    this.closed = promise;
    socket.addEventListener("close", ({ code, reason }) => {
      open.delete(this);
      resolve({ code, reason });
    });
    socket.addEventListener("message", ({ data }) => this.#receive(data as string));
    socket.accept();
    open.add(this);
  }

  #receive(text: string): void {
    this.texts.push(text);
    if (text === "pong") return;
    const frame = JSON.parse(text) as Frame;
    this.frames.push(frame);
    this.messages.push(...(frame.type === "messages" ? (frame.messages ?? []) : []));
  }

  get payloads(): unknown[] {
    return this.messages.map(({ payload }) => payload);
  }

  /** The numbers of the batches that have come. */
  get batches(): number[] {
    return this.frames.flatMap(({ type, batch }) => (type === "messages" ? [batch as number] : []));
  }

  send(frame: unknown): void {
    this.#socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  sendBytes(bytes: Uint8Array): void {
    this.#socket.send(bytes);
  }

  close(code = 1000): void {
    this.#socket.close(code, "bye");
  }

  /** Waits until that many messages have come, and answers the payloads of all. */
  async has(count: number): Promise<unknown[]> {
    await expect.poll(() => this.messages.length, { interval: 5, timeout: 10_000 }).toBeGreaterThanOrEqual(count);
    expect(this.payloads).toHaveLength(count);
    return this.payloads;
  }

  /** Sends a frame and waits for its answer. */
  async ask(frame: object): Promise<Frame> {
    const ref = `r${this.#refs++}`;
    this.send({ ...frame, ref });
    const answered = () => this.frames.find((answer) => answer.ref === ref);
    await expect.poll(answered, { interval: 5, timeout: 10_000 }).toBeDefined();
    return answered() as Frame;
  }

  /** The outcomes of acks. */
  async ack(acks: readonly AckEntry[]): Promise<string[]> {
    const { type, results } = (await this.ask({ type: "ack", acks })) as unknown as {
      type: string;
      results: { id: string; outcome: string }[];
    };
    expect(type).toBe("acked");
    expect(results.map(({ id }) => id)).toEqual(acks.map(({ id }) => id));
    return results.map(({ outcome }) => outcome);
  }

  /** How many messages of a batch an ack of the whole has settled. */
  async ackBatch(batch = NaN): Promise<unknown> {
    const { type, acked } = await this.ask({ type: "ack", batch });
    expect(type).toBe("acked");
    return acked;
  }

  ackAll(status?: string): Promise<string[]> {
    return this.ack(this.messages.map(({ id }) => (status === undefined ? { id } : { id, status })));
  }
}

export function subscribePath(queue: string, parameters: Parameters = {}): string {
  const query = new URLSearchParams({ queue });
  for (const [name, value] of Object.entries(parameters)) query.set(name, String(value));
  return `/api/v1/ephemeral/subscribe?${query}`;
}

export async function subscribe(queue: string, parameters: Parameters = {}): Promise<Subscriber> {
  const response = await call(subscribePath(queue, parameters), { headers: { upgrade: "websocket" } });
  expect(response.status, response.webSocket === null ? await response.text() : "").toBe(101);
  return new Subscriber(response.webSocket as WebSocket);
}

/** Waits a moment in which something would have come that must not. */
export async function aMoment(): Promise<void> {
  await scheduler.wait(100);
}

/** Where messages are, and how a subscriber names it. */
export const PLACES = [
  ["the home's partition", "Default", true],
  ["a partition of another owner", "away", true],
  ["any partition, with messages from the home", "Default", false],
  ["any partition, with messages from another owner", "away", false],
] as const;

export function place(
  where: string,
  named: boolean,
): { queue: string; partition: string; parameters: Record<string, string> } {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  return { queue, partition, parameters: named ? { partition } : {} };
}
