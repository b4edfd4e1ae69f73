import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { decodeBody } from "../../src/durable/content.ts";
import { decodeBase64 } from "../../src/durable/base64.ts";
import type { QueueError } from "../../src/contract/queue-errors.ts";
import type { QueueMetrics, QueueProps, SendBatchOptions, SendOptions, SendResponse } from "../../src/rpc/queue.ts";
import { addConsumer, createQueue, freshName, freshQueue, QUEUES, result } from "./support.ts";

/** A producer's binding as another Worker holds it. */
interface Producer {
  send(body: unknown, options?: SendOptions): Promise<SendResponse>;
  sendBatch(messages: unknown, options?: SendBatchOptions): Promise<SendResponse>;
  metrics(): Promise<QueueMetrics>;
}

const bind = (exports as unknown as { Queue: (options: { props: object }) => Producer }).Queue;

function producer(queue: string, props: Partial<QueueProps> = {}): Producer {
  return bind({ props: { queue, ...props } });
}

/** A queue that a client pulls from, and its producer. */
async function pulled(): Promise<{ queue: string; send: Producer }> {
  const { queue_name: queue } = await freshQueue();
  await addConsumer(queue, { type: "http_pull" });
  return { queue, send: producer(queue) };
}

interface Pulled {
  body: string;
  metadata: Record<string, string>;
  attempts: number;
}

async function pull(queue: string): Promise<Pulled[]> {
  const { messages } = await result<{ messages: Pulled[] }>("POST", `${QUEUES}/${queue}/messages/pull`, {
    batch_size: 100,
  });
  return messages;
}

/** What a message was refused with, as the caller sees it. */
async function refusal(call: Promise<unknown>): Promise<QueueError> {
  try {
    await call;
  } catch (error) {
    const refused = error as QueueError;
    expect(refused.message.endsWith(` (${refused.code})`), refused.message).toBe(true);
    expect(refused.cause).toBe(refused.message.slice(0, -` (${refused.code})`.length));
    expect(refused.retryable).toBeTypeOf("boolean");
    return refused;
  }
  throw new Error("this call must be refused");
}

it("resolves a send with how much waits", async () => {
  const { send } = await pulled();
  const before = Date.now();
  expect(await send.send("abc", { contentType: "text" })).toEqual({
    metadata: { metrics: { backlogCount: 1, backlogBytes: 3, oldestMessageTimestamp: expect.any(Date) as Date } },
  });
  const { metadata } = await send.sendBatch([{ body: 1 }, { body: 22, delaySeconds: 60 }]);
  expect(metadata.metrics).toMatchObject({ backlogCount: 3, backlogBytes: 6 });
  const metrics = await send.metrics();
  expect(metrics).toMatchObject({ backlogCount: 3, backlogBytes: 6, readyCount: 2, delayedCount: 1, leasedCount: 0 });
  expect(Math.abs((metrics.oldestMessageTimestamp?.getTime() ?? 0) - before)).toBeLessThan(10_000);
});

it("has no oldest message when nothing waits", async () => {
  const { send } = await pulled();
  expect(await send.metrics()).toEqual({
    backlogCount: 0,
    backlogBytes: 0,
    readyCount: 0,
    delayedCount: 0,
    leasedCount: 0,
  });
});

const cycle: Record<string, unknown> = { name: "cycle" };
cycle.self = cycle;

it.each([
  ["json", { a: [1, null, "ü"] }, '{"a":[1,null,"ü"]}'],
  [undefined, { at: new Date(0), map: new Map([[1, 2]]) }, '{"at":"1970-01-01T00:00:00.000Z","map":{}}'],
  ["JSON", null, "null"],
  ["Text", "plain ü", "plain ü"],
  ["text", "", ""],
])("stores a body of content type %s as text", async (contentType, body, stored) => {
  const { queue, send } = await pulled();
  await send.send(body, contentType === undefined ? {} : { contentType });
  const [message] = await pull(queue);
  const bytes = decodeBase64(message?.body ?? "") ?? new Uint8Array();
  expect(contentType?.toLowerCase() === "text" ? message?.body : new TextDecoder().decode(bytes)).toBe(stored);
});

it.each([
  ["a view of a part", new Uint8Array([0, 1, 2, 255, 4]).subarray(1, 4), [1, 2, 255]],
  ["an ArrayBuffer", new Uint8Array([7, 8]).buffer, [7, 8]],
  ["a DataView", new DataView(new Uint8Array([9]).buffer), [9]],
  ["nothing", new Uint8Array(), []],
])("stores bytes of %s, and leaves the caller's buffer alone", async (_, body, bytes) => {
  const { queue, send } = await pulled();
  await send.send(body, { contentType: "bytes" });
  expect((body instanceof ArrayBuffer ? body : body.buffer).detached).toBe(false);
  const [message] = await pull(queue);
  expect([...(decodeBase64(message?.body ?? "!") ?? [])]).toEqual(bytes);
});

it.each([
  ["a Date", new Date(5)],
  ["a Map", new Map<unknown, unknown>([[{ k: 1 }, new Set([1, 2n])]])],
  ["a big integer", 2n ** 70n],
  ["typed arrays", { bytes: new Uint8Array([1, 2]), floats: new Float64Array([0.5]) }],
  ["a cycle", cycle],
  ["undefined in an object", { a: undefined }],
])("keeps %s in a body of content type v8", async (_, body) => {
  const { queue, send } = await pulled();
  // What went before must not matter for reading it.
  await send.send({ name: "before", map: new Map() }, { contentType: "v8" });
  await send.send(body, { contentType: "V8" });
  const message = (await pull(queue)).at(1);
  expect(message?.metadata["CF-Content-Type"]).toBe("v8");
  expect(decodeBody("v8", decodeBase64(message?.body ?? "") ?? new Uint8Array())).toEqual(body);
});

it("takes a Set of messages", async () => {
  const { queue, send } = await pulled();
  await send.sendBatch(new Set([{ body: 1 }, { body: 2 }]));
  expect(await pull(queue)).toHaveLength(2);
});

it("lets a message's own delay win over the batch's, and 0 is one", async () => {
  const { queue, send } = await pulled();
  await send.sendBatch([{ body: 1 }, { body: 2, delaySeconds: 0 }], { delaySeconds: 600 });
  expect((await pull(queue)).map(({ body }) => atob(body))).toEqual(["2"]);
  expect(await send.metrics()).toMatchObject({ delayedCount: 1 });
});

it("keeps partitions apart, by the binding and by the call", async () => {
  const { queue } = await pulled();
  await producer(queue, { partition: "eu" }).send(1);
  await producer(queue, { partition: "eu" }).send(2, { partition: "us" });
  await producer(queue).sendBatch([{ body: 3 }], { partition: "us" });
  const { status } = await result<{ status: { partitions: { partition: string; ready_count: number }[] } }>(
    "GET",
    `${QUEUES}/${queue}`,
  );
  const counts = Object.fromEntries(status.partitions.map(({ partition, ready_count }) => [partition, ready_count]));
  expect(counts).toEqual({ eu: 1, us: 2 });
});

it("accepts sends while delivery is paused", async () => {
  const { queue_name: queue } = await freshQueue({ delivery_paused: true });
  expect((await producer(queue).send(1)).metadata.metrics.backlogCount).toBe(1);
});

it("takes what is just within the limits", async () => {
  const { send } = await pulled();
  await send.send("x".repeat(128_000), { contentType: "text" });
  await send.send("x".repeat(127_998), { delaySeconds: 86_400 });
  await send.sendBatch(Array.from({ length: 100 }, () => ({ body: "x".repeat(2880), contentType: "text" })));
  expect(await send.metrics()).toMatchObject({ backlogCount: 102, backlogBytes: 256_000 + 288_000 });
});

it.each<[what: string, code: number, call: (send: Producer) => Promise<unknown>, says: RegExp]>([
  ["an unknown content type", 10203, (send) => send.send(1, { contentType: "xml" }), /"xml".*json, text, bytes or v8/],
  ["a delay one past the longest", 10203, (send) => send.send(1, { delaySeconds: 86_401 }), /86401.*0 to 86400/],
  ["a delay before now", 10203, (send) => send.send(1, { delaySeconds: -1 }), /-1/],
  ["half a second", 10203, (send) => send.send(1, { delaySeconds: 0.5 }), /0.5.*whole number/],
  ["a batch's delay", 10202, (send) => send.sendBatch([{ body: 1 }], { delaySeconds: 86_401 }), /86401/],
  ["undefined", 10208, (send) => send.send(undefined), /no body/],
  ["a text that is none", 10208, (send) => send.send(1, { contentType: "text" }), /must be a string, not a number/],
  ["bytes that are none", 10208, (send) => send.send("x", { contentType: "bytes" }), /ArrayBuffer/],
  ["what JSON cannot hold", 10208, (send) => send.send(1n), /BigInt/],
  ["a cycle as JSON", 10208, (send) => send.send(cycle), /JSON/],
  ["an empty batch", 10206, (send) => send.sendBatch([]), /empty/],
  ["no batch at all", 10206, (send) => send.sendBatch({ body: 1 }), /array or a Set/],
  ["101 messages", 10206, (send) => send.sendBatch(Array.from({ length: 101 }, () => ({ body: 1 }))), /101.*100/],
  ["a message one byte too large", 10204, (send) => send.send("x".repeat(127_999)), /128001.*128000/],
  [
    "a batch one byte too large",
    10205,
    (send) =>
      send.sendBatch([
        { body: 1 },
        ...Array.from({ length: 99 }, (_, i) => ({ body: "x".repeat(i < 9 ? 2908 : 2907) })),
      ]),
    /288001.*288000/,
  ],
  ["a partition with no name", 10203, (send) => send.send(1, { partition: "" }), /empty/],
  ["an option that is none", 10203, (send) => send.send(1, { delay: 5 } as SendOptions), /delay.*delaySeconds/],
])("refuses %s with %i, and stores nothing", async (_, code, call, says) => {
  const { send } = await pulled();
  const refused = await refusal(call(send));
  expect(refused.code).toBe(code);
  expect(refused.message).toMatch(says);
  expect((await send.metrics()).backlogCount).toBe(0);
});

it("refuses all of a batch for one of its messages", async () => {
  const { send } = await pulled();
  expect((await refusal(send.sendBatch([{ body: 1 }, { body: 1n }]))).code).toBe(10208);
  expect((await send.metrics()).backlogCount).toBe(0);
});

it("refuses a queue that was not declared, and says how to declare it", async () => {
  const refused = await refusal(producer("never-declared").send(1));
  expect([refused.code, refused.retryable]).toEqual([10104, false]);
  expect(refused.message).toContain("/api/v1/queues");
});

it("reaches the queue of its props alone, with the verbs of its props", async () => {
  const { queue } = await pulled();
  const sender = producer(queue, { verbs: ["send"] });
  await sender.send(1);
  expect((await refusal(sender.metrics())).code).toBe(10106);
  const watcher = producer(queue, { verbs: ["metrics"] });
  expect((await watcher.metrics()).backlogCount).toBe(1);
  expect((await refusal(watcher.send(1))).code).toBe(10106);
  expect((await refusal(watcher.sendBatch([{ body: 1 }]))).code).toBe(10106);
  expect((await refusal(bind({ props: {} }).send(1))).code).toBe(10106);
});

it("follows a queue through a rename, and not beyond its end", async () => {
  const name = freshName();
  const { queue_id: id } = await createQueue(name);
  await producer(name).send(1);
  const renamed = freshName();
  await result("PATCH", `${QUEUES}/${id}`, { queue_name: renamed });
  expect((await refusal(producer(name).send(2))).code).toBe(10104);
  expect((await producer(renamed).send(3)).metadata.metrics.backlogCount).toBe(2);
  await result("DELETE", `${QUEUES}/${id}`);
  expect((await refusal(producer(renamed).send(4))).code).toBe(10104);
  await createQueue(renamed);
  expect((await producer(renamed).send(5)).metadata.metrics.backlogCount).toBe(1);
});
