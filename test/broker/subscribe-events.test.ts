import { expect, it } from "vitest";
import {
  call,
  depth,
  freshQueue,
  owners,
  parked,
  partitionAway,
  pop,
  popPayloads,
  push,
  pushTexts,
  refused,
} from "./support.ts";
import { subscribePath, subscribersEndWithTheirTest } from "./subscribe-support.ts";

subscribersEndWithTheirTest();

/** A client of one event stream. */
class Stream {
  text = "";
  readonly headers: Headers;
  readonly #abort: AbortController;
  readonly ended: Promise<void>;

  private constructor(response: Response, abort: AbortController) {
    this.headers = response.headers;
    this.#abort = abort;
    this.ended = this.#read(response);
  }

  static async open(path: string): Promise<Stream> {
    const abort = new AbortController();
    const headers = { accept: "text/event-stream", "last-event-id": "17" };
    const response = await call(path, { headers, signal: abort.signal });
    expect(response.status).toBe(200);
    return new Stream(response, abort);
  }

  async #read(response: Response): Promise<void> {
    try {
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) this.text += decoder.decode(chunk, { stream: true });
    } catch {
      // Aborted.
    }
  }

  /** The data of all events, as an `EventSource` would give it. */
  get data(): string[] {
    return this.text
      .split("\n\n")
      .map((event) => event.split("\n").filter((line) => line.startsWith("data: ")))
      .filter((lines) => lines.length > 0)
      .map((lines) => lines.map((line) => line.slice("data: ".length)).join("\n"));
  }

  async has(count: number): Promise<unknown[]> {
    await expect.poll(() => this.data.length, { interval: 5, timeout: 10_000 }).toBe(count);
    return this.data.map((text) => (JSON.parse(text) as { payload: unknown }).payload);
  }

  async leave(): Promise<void> {
    this.#abort.abort();
    await this.ended;
  }
}

it.each([
  ["the home's partition", "Default", true],
  ["a partition of another owner", "away", true],
  ["any partition, with messages from the home", "Default", false],
  ["any partition, with messages from another owner", "away", false],
])("sends what waits and what comes, in order, and acks it: %s", async (_, where, named) => {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  await push(queue, [1, 2], partition);
  const stream = await Stream.open(subscribePath(queue, { group: "g", ...(named ? { partition } : {}) }));
  expect(stream.headers.get("content-type")).toBe("text/event-stream");
  expect(await stream.has(2)).toEqual([1, 2]);
  for (const payload of [3, 4]) await push(queue, [payload], partition);
  expect(await stream.has(4)).toEqual([1, 2, 3, 4]);
  expect(stream.data.map((text) => JSON.parse(text))).toMatchObject([{ partition, attempts: 1 }, {}, {}, {}]);
  await parked(1);
  expect((await depth(queue)).partitions).toMatchObject([{ pending: 0, bytes: 0 }]);
  await stream.leave();
  await parked(0);
});

it("a payload is the text that it was, line breaks included", async () => {
  const queue = freshQueue();
  const payload = '{"a" : 1.0,\n\n"b":\r\n12345678901234567890}';
  const stream = await Stream.open(subscribePath(queue, { group: 'a "quoted","partition": one' }));
  await pushTexts(queue, [payload], 'odd","partition":');
  await stream.has(1);
  expect(stream.data[0]).toContain(`"payload":${payload.replace("\r", "")}`);
  await expect.poll(async () => (await depth(queue)).bytes).toBe(0);
  await stream.leave();
});

it("a client that leaves takes nothing with it", async () => {
  const queue = freshQueue();
  const stream = await Stream.open(subscribePath(queue, { group: "g" }));
  await parked(1);
  await stream.leave();
  await parked(0);
  await push(queue, [1]);
  expect(await pop(queue, { group: "g" })).toMatchObject([{ payload: 1, attempts: 1 }]);
  expect((await owners()).reduce((sum, { subscribers }) => sum + subscribers, 0)).toBe(0);
});

/**
 * Nothing lies between the broker and its clients here: what was written was read. Over a network, what is on its way to a
 * client that has gone is gone with it, since it counts as consumed once it was written.
 */
it.each([
  ["before", true],
  ["while", false],
])("every message goes to one client, once, when others leave %s they come", async (_, before) => {
  const queue = freshQueue();
  const streams = await Promise.all(Array.from({ length: 20 }, () => Stream.open(subscribePath(queue))));
  await parked(20);
  const leavers = streams.slice(0, 10);
  if (before) for (const stream of leavers) void stream.leave();
  const pushes = Array.from({ length: 40 }, async (__, i) => {
    await push(queue, [i]);
    if (!before) await leavers[i / 4]?.leave();
  });
  await Promise.all(pushes);
  await parked(10);
  const seen = () =>
    streams.flatMap(({ data }) => data).map((text) => JSON.parse(text) as { payload: number; attempts: number });
  await expect.poll(() => seen().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(40);
  expect(
    seen()
      .map(({ payload }) => payload)
      .sort((x, y) => x - y),
  ).toEqual(Array.from({ length: 40 }, (__, i) => i));
  expect(seen().filter(({ attempts }) => attempts !== 1)).toEqual([]);
  await expect.poll(async () => (await depth(queue)).bytes).toBe(0);
  for (const stream of streams) await stream.leave();
  await parked(0);
});

it("what could not be written to a client comes back with its attempts unchanged when the client leaves", async () => {
  const queue = freshQueue();
  const abort = new AbortController();
  const headers = { accept: "text/event-stream" };
  // A client that takes nothing off its connection.
  const unread = await call(subscribePath(queue, { prefetch: 3 }), { headers, signal: abort.signal });
  await parked(1);
  const large = "x".repeat(500_000);
  await push(
    queue,
    [1, 2, 3].map((n) => `${n}${large}`),
  );
  await parked(0);
  expect(await popPayloads(queue, { batch: 100 })).toEqual([]);
  abort.abort();
  await unread.body?.cancel().catch(() => {});
  const back: string[] = [];
  const attempts = new Set<number>();
  const take = async () => {
    for (const message of await pop(queue, { batch: 100 })) {
      back.push(String(message.payload).slice(0, 1));
      attempts.add(message.attempts);
    }
    return back;
  };
  await expect.poll(take, { timeout: 10_000 }).toEqual(["1", "2", "3"]);
  expect(attempts).toEqual(new Set([1]));
});

it("what is refused is refused with a status", async () => {
  const headers = { accept: "text/event-stream" };
  await refused(call("/api/v1/ephemeral/subscribe?queue=", { headers }), 400, "ephemeral_bad_request");
});
