import { env as bindings, exports } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi, type MockInstance } from "vitest";
import type { Env } from "../../src/config.ts";
import { bridge } from "../../src/delivery/bridge.ts";
import { decodeBody } from "../../src/durable/content.ts";
import { DurableQueues } from "../../src/durable-queues.ts";
import { Broker } from "../../src/broker.ts";

const env = bindings as unknown as Env;

let number = 0;
/** The name of a Cloudflare Queue and of the queue that it is bridged to. */
let name = "";
let log: MockInstance;

beforeEach(() => {
  name = `bridged-${number++}`;
  log = vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

async function call(method: string, path: string, body: unknown): Promise<void> {
  const init = { method, body: JSON.stringify(body) };
  const response = await (exports as unknown as { default: Fetcher }).default.fetch(`http://waggle${path}`, init);
  if (!response.ok) throw new Error(await response.text());
}

async function bridgeToDurable(partition?: string): Promise<void> {
  await call("POST", "/api/v1/queues", { queue_name: name });
  await call("PUT", `/api/v1/bridges/${name}`, { target: { kind: "durable", queue: name, partition } });
}

async function bridgeToEphemeral(options: object = {}): Promise<void> {
  await call("POST", "/api/v1/ephemeral/configure", { queue: name, options });
  await call("PUT", `/api/v1/bridges/${name}`, { target: { kind: "ephemeral", queue: name, partition: "room" } });
}

/** Runs the handler on bodies. One word for each message: `ack`, the delay of its retry, or `retry`. */
async function run(bodies: readonly unknown[], attempts = 1): Promise<(string | number)[]> {
  const words: (string | number)[] = bodies.map(() => "nothing");
  // The first call counts, as it does in the original. Those of the test environment keep no delays.
  const note = (n: number, word: string | number) => {
    if (words[n] === "nothing") words[n] = word;
  };
  const messages = bodies.map((body, n) => ({
    id: `${n}`,
    timestamp: new Date(),
    attempts,
    body,
    ack: () => note(n, "ack"),
    retry: ({ delaySeconds }: QueueRetryOptions = {}) => note(n, delaySeconds ?? "retry"),
  }));
  const retryAll = (options?: QueueRetryOptions) => messages.forEach((message) => message.retry(options));
  const metadata = { metrics: { backlogCount: 0, backlogBytes: 0 } };
  await bridge({ queue: name, messages, metadata, retryAll, ackAll: () => {} }, env);
  return words;
}

async function arrived(): Promise<{ type: string; body: unknown }[]> {
  const peeked = await new DurableQueues(env).peek(name, 100);
  return peeked.map(({ type, body }) => ({ type, body: decodeBody(type, body) }));
}

async function popped(): Promise<unknown[]> {
  const request = { queue: name, partition: "room", group: "", batch: 1000, autoAck: true, waitMs: 0, waiterId: "" };
  const { json } = await new Broker(env).pop(request);
  const messages = JSON.parse(`[${String(json)}]`) as { payload: unknown }[];
  return messages.map(({ payload }) => payload);
}

it("pushes into a durable queue, each body under the content type that keeps it", async () => {
  await bridgeToDurable();
  const shared = { x: 1 };
  const bodies = [
    { order: 7, lines: [{ sku: "a", count: 2 }], note: null },
    "a text",
    new Uint8Array([1, 2, 3]),
    new Map([["k", 1n]]),
    { when: new Date(5) },
    [shared, shared],
    Number.NaN,
    { missing: undefined },
    new Float32Array([1.5]),
  ];
  expect(await run(bodies)).toEqual(bodies.map(() => "ack"));
  const messages = await arrived();
  expect(messages.map(({ type }) => type)).toEqual(["json", "text", "bytes", "v8", "v8", "v8", "v8", "v8", "v8"]);
  expect(messages.map(({ body }) => body)).toEqual(bodies);
});

it("pushes into the partition that the bridge names", async () => {
  await bridgeToDurable("room");
  expect(await run([1])).toEqual(["ack"]);
  const { partitions } = await new DurableQueues(env).status(name);
  expect(partitions.find(({ partition }) => partition === "room")).toMatchObject({ count: 1 });
});

it("pushes into an ephemeral queue what JSON can hold, and leaves the rest to the source", async () => {
  await bridgeToEphemeral();
  expect(await run([{ a: 1 }, new Uint8Array([1]), "text", new Date(), null])).toEqual([
    "ack",
    "retry",
    "ack",
    "retry",
    "ack",
  ]);
  expect(await popped()).toEqual([{ a: 1 }, "text", null]);
  expect(log).toHaveBeenCalledTimes(2);
  expect(log).toHaveBeenCalledWith(expect.stringContaining("is refused and will be again"), expect.anything());
});

it("retries everything of a source without a bridge, and says how to declare one", async () => {
  expect(await run([1, 2])).toEqual(["retry", "retry"]);
  expect(log).toHaveBeenCalledWith(expect.stringContaining(`PUT /api/v1/bridges/${name}`));
});

it("retries a message that is too large, and pushes the others", async () => {
  await bridgeToDurable();
  expect(await run(["a", "x".repeat(128_001), "b"])).toEqual(["ack", "retry", "ack"]);
  expect((await arrived()).map(({ body }) => body)).toEqual(["a", "b"]);
});

it("pushes of a batch what there is room for, in order, and retries the rest later and later", async () => {
  await bridgeToEphemeral({ maxLength: 5 });
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  expect(await run(numbers)).toEqual(numbers.map((n) => (n < 5 ? "ack" : 10)));
  expect(await run(numbers.slice(5), 3)).toEqual(numbers.slice(5).map(() => 40));
  expect(await popped()).toEqual([0, 1, 2, 3, 4]);
  expect(await run([5], 90)).toEqual(["ack"]);
  expect(log).not.toHaveBeenCalled();
});

it("pushes a batch that is too large for one send in parts", async () => {
  await bridgeToDurable();
  const send = vi.spyOn(DurableQueues.prototype, "send").mockResolvedValue({ count: 0, bytes: 0, oldestAt: null });
  const bodies = Array.from({ length: 5 }, (_, n) => String(n).repeat(100_000));
  expect(await run(bodies)).toEqual(bodies.map(() => "ack"));
  const sent = send.mock.calls.flatMap(([, , { lengths, bodies: packed }]) =>
    lengths.map((length, i) => new TextDecoder().decode(packed.subarray(i * length, i * length + 1))),
  );
  expect(sent).toEqual(["0", "1", "2", "3", "4"]);
});

it("retries what a full durable queue has no room for", async () => {
  await bridgeToDurable();
  const bodies = Array.from({ length: 6 }, (_, n) => String(n).repeat(30_000));
  expect(await run(bodies)).toEqual(["ack", "ack", "ack", 10, 10, 10]);
  expect((await arrived()).map(({ body }) => String(body)[0])).toEqual(["0", "1", "2"]);
});

it("retries after a disturbance, with a delay of at most ten minutes", async () => {
  await bridgeToDurable();
  vi.spyOn(DurableQueues.prototype, "send").mockRejectedValue(new Error("Network connection lost."));
  expect(await run([1, 2], 1)).toEqual([10, 10]);
  expect(await run([1, 2], 100)).toEqual([600, 600]);
  expect(log).not.toHaveBeenCalled();
});
