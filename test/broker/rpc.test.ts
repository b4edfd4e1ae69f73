import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";
import { WaggleError } from "../../src/contract/errors.ts";
import type { EphemeralBinding, EphemeralMessage, EphemeralProps, Verb } from "../../src/rpc/binding.ts";
import {
  freshQueue,
  list,
  listed,
  parked,
  partitionAway,
  passTime,
  popOne,
  popPayloads,
  push as pushOverHttp,
} from "./support.ts";

/** The entrypoint on the loopback: a service binding as another Worker holds it, and a way to bind it with props. */
type Loopback = EphemeralBinding & ((options: { props: EphemeralProps }) => EphemeralBinding);

const loopback = (exports as unknown as { Ephemeral: Loopback }).Ephemeral;

const broker: EphemeralBinding = loopback;

function confined(props: EphemeralProps): EphemeralBinding {
  return loopback({ props });
}

/** What a call failed with, as the caller sees it. */
async function failure(answer: Promise<unknown>): Promise<Pick<WaggleError, "name" | "code" | "status" | "message">> {
  try {
    await answer;
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return error as WaggleError;
  }
  throw new Error("this call must fail");
}

const BAD = { name: "WaggleError", code: "ephemeral_bad_request", status: 400 };

it("takes each element of a push as one payload", async () => {
  const queue = freshQueue();
  const payloads = [1, "é", null, true, [1, [2]], { payload: 3, queue: "x" }, "", {}];
  expect(await broker.push(queue, payloads)).toEqual({ pushed: payloads.length });
  expect(await popPayloads(queue, { batch: 99 })).toEqual(payloads);
});

it("pushes to a partition, and nothing for nothing", async () => {
  const queue = freshQueue();
  expect(await broker.push(queue, [])).toEqual({ pushed: 0 });
  expect(await listed(queue)).toBeUndefined();
  const partition = partitionAway(queue);
  await broker.push(queue, [1], { partition });
  await broker.push(queue, [2]);
  expect((await popOne(queue, { partition })).payload).toBe(1);
  expect((await popOne(queue)).partition).toBe("Default");
});

it("a push may bring a key, and may ask for responders", async () => {
  const queue = freshQueue();
  expect(await failure(broker.push(queue, [1], { requireResponders: true }))).toMatchObject({
    code: "no_responders",
    status: 503,
  });
  expect(await broker.push(queue, [1, 2], { key: "k" })).toEqual({ pushed: 2 });
  expect(await broker.push(queue, [1, 2], { key: "k", requireResponders: true })).toEqual({ pushed: 2 });
  expect(await popPayloads(queue, { batch: 10 })).toEqual([1, 2]);
  expect(await broker.push(queue, [3], { requireResponders: true })).toEqual({ pushed: 1 });
  expect(await failure(broker.push(queue, [1], { key: "" }))).toMatchObject(BAD);
});

it("pops values, in batches, of a partition, for a group, acked or leased", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await pushOverHttp(queue, [{ a: [1] }, 2], partition);
  await pushOverHttp(queue, [3]);
  const { messages } = await broker.pop(queue, { partition, batch: 9, group: "g" });
  expect(messages).toEqual([
    { id: expect.stringMatching(/^e:[0-9a-f]+:/), partition, attempts: 1, payload: { a: [1] } },
    { id: expect.stringMatching(/^e:[0-9a-f]+:/), partition, attempts: 1, payload: 2 },
  ]);
  expect(await broker.pop(queue, { group: "g", autoAck: true })).toMatchObject({ queue, messages: [{ payload: 3 }] });
  expect(await broker.pop(queue, { group: "g" })).toEqual({ queue, messages: [] });
  passTime(31_000);
  expect((await broker.pop(queue, { group: "g", batch: 9 })).messages.map(({ payload }) => payload)).toEqual([
    { a: [1] },
    2,
  ]);
});

it("hands over 5 MB of text at once", async () => {
  const queue = freshQueue();
  const payload = `é${"x".repeat(5_000_000)}`;
  await broker.push(queue, [payload]);
  const { messages } = await broker.pop<string>(queue);
  expect(messages[0]?.payload === payload).toBe(true);
});

it("waits for a message", async () => {
  const queue = freshQueue();
  const waiting = broker.pop(queue, { wait: true, timeout: 10_000 });
  await parked(1);
  await broker.push(queue, ["x"], { partition: partitionAway(queue) });
  expect((await waiting).messages).toMatchObject([{ payload: "x", attempts: 1 }]);
});

it("settles popped messages and sends their attempts along", async () => {
  const queue = freshQueue();
  await pushOverHttp(queue, [1], partitionAway(queue));
  const { messages: first } = await broker.pop(queue);
  expect((await broker.ack(queue, first, { status: "retry" })).results).toEqual([
    { id: first[0]?.id, outcome: "redelivered" },
  ]);
  const { messages: second } = await broker.pop(queue);
  expect(second[0]?.attempts).toBe(2);
  // The ack of whoever had it first comes too late, and settles nothing.
  expect((await broker.ack(queue, first)).results).toEqual([{ id: first[0]?.id, outcome: "unknown" }]);
  expect((await broker.ack(queue, second)).results).toEqual([{ id: first[0]?.id, outcome: "acked" }]);
});

it("settles by ids alone, for a group, each by its own status", async () => {
  const queue = freshQueue();
  await pushOverHttp(queue, [1, 2, 3]);
  const { messages } = await broker.pop(queue, { group: "g", batch: 3 });
  const [one, two, three] = messages as [EphemeralMessage, EphemeralMessage, EphemeralMessage];
  expect((await broker.ack(queue, [one.id])).results.map(({ outcome }) => outcome)).toEqual(["unknown"]);
  const acks = [one.id, { ...two, status: "failed" as const }, { id: three.id, status: "completed" as const }];
  const { results } = await broker.ack(queue, acks, { group: "g" });
  expect(results).toEqual([
    { id: one.id, outcome: "acked" },
    { id: two.id, outcome: "redelivered" },
    { id: three.id, outcome: "acked" },
  ]);
});

it("configures, resets, deletes, lists and measures", async () => {
  const queue = freshQueue();
  const options = { maxLength: 3, windowBuffer: { ms: 5 } };
  expect(await broker.configure(queue, options)).toEqual({ queue, options, declared: true });
  await broker.push(queue, [1, 2]);
  await broker.pop(queue, { group: "g" });
  expect(await broker.depth(queue)).toMatchObject({ queue, group: null, tier: "declared", pending: 1 });
  expect(await broker.depth(queue, { group: "stranger" })).toMatchObject({ group: "stranger", pending: 2 });
  expect(await broker.queues()).toEqual(await list());
  expect(await broker.reset(queue)).toEqual({ queue, dropped: 2 });
  expect(await broker.delete(queue)).toEqual({ queue, deleted: true, declared: true });
  expect(await broker.delete(queue)).toEqual({ queue, deleted: false, declared: false });
});

it("fails with the code and status of the wire", async () => {
  const queue = freshQueue();
  expect(await failure(broker.depth(queue))).toMatchObject({ code: "ephemeral_queue_not_found", status: 404 });
  await broker.configure(queue, { maxLength: 1 });
  expect(await failure(broker.push(queue, [1, 2]))).toMatchObject({
    code: "queue_full",
    status: 429,
    retryAfterSeconds: 1,
  });
  const tooLarge = await failure(broker.push(queue, ["x".repeat(16 * 1024 * 1024)]));
  expect(tooLarge).toMatchObject({ code: "payload_too_large", status: 413 });
});

it("refuses what is no argument of its verbs, naming it", async () => {
  const queue = freshQueue();
  const untyped = broker as unknown as Record<Verb, (...args: unknown[]) => Promise<unknown>>;
  const calls: [RegExp, Promise<unknown>][] = [
    [/queue/, untyped.push("", [1])],
    [/queue/, untyped.push(7, [1])],
    [/queue/, untyped.pop("a\n")],
    [/array/, untyped.push(queue, "text")],
    [/payloads\[1\]/, untyped.push(queue, [1, undefined])],
    [/partition/, untyped.push(queue, [1], { partition: "" })],
    [/partitions/, untyped.push(queue, [1], { partitions: "x" })],
    [/batch/, untyped.pop(queue, { batch: 0 })],
    [/batch/, untyped.pop(queue, { batch: 10_001 })],
    [/batch/, untyped.pop(queue, { batch: "5" })],
    [/timeout/, untyped.pop(queue, { wait: true, timeout: 300_001 })],
    [/wait/, untyped.pop(queue, { wait: "yes" })],
    [/commit/, untyped.pop(queue, { commit: true })],
    [/status/, untyped.ack(queue, ["x"], { status: "done" })],
    [/group/, untyped.ack(queue, ["x"], { group: "" })],
    [/maxLength/, untyped.configure(queue, { maxLength: -1 })],
    [/"later".*maxLength/, untyped.configure(queue, { later: 1 })],
    [/group/, untyped.depth(queue, { group: "\u0000" })],
    [
      /10000/,
      untyped.push(
        queue,
        Array.from({ length: 10_001 }, () => 1),
      ),
    ],
  ];
  for (const [message, call] of calls) {
    const failed = await failure(call);
    expect(failed).toMatchObject({ ...BAD, message: expect.stringMatching(message) as string });
  }
  expect(await listed(queue)).toBeUndefined();
});

it("confines a binding to one queue", async () => {
  const [mine, other] = [freshQueue(), freshQueue()];
  const binding = confined({ queue: mine });
  expect(await binding.push(mine, [1])).toEqual({ pushed: 1 });
  for (const queue of [other, `${mine}x`, mine.slice(0, -1), `${mine}*`]) {
    for (const call of [
      binding.push(queue, [1]),
      binding.pop(queue),
      binding.ack(queue, []),
      binding.configure(queue),
      binding.reset(queue),
      binding.delete(queue),
      binding.depth(queue),
    ]) {
      expect(await failure(call)).toMatchObject({ code: "forbidden", status: 403 });
    }
  }
  expect(await listed(other)).toBeUndefined();
  const { queues, count, cellBytes } = await binding.queues();
  expect([queues.map(({ queue }) => queue), count, cellBytes]).toEqual([[mine], 1, 1]);
});

it("confines a binding to queues that begin alike", async () => {
  const prefix = `${freshQueue()}-`;
  const binding = confined({ queue: `${prefix}*` });
  for (const queue of [prefix, `${prefix}a`, `${prefix}*`]) {
    expect(await binding.push(queue, ["x"])).toEqual({ pushed: 1 });
  }
  expect(await failure(binding.push(prefix.slice(0, -1), ["x"]))).toMatchObject({ code: "forbidden" });
  const { queues, count, cellBytes } = await binding.queues();
  expect(queues.map(({ queue }) => queue)).toEqual([prefix, `${prefix}*`, `${prefix}a`]);
  expect([count, cellBytes]).toEqual([3, 9]);
  expect(await confined({ queue: "*" }).pop(prefix)).toMatchObject({ messages: [{ payload: "x" }] });
});

it("confines a binding to some verbs", async () => {
  const queue = freshQueue();
  const verbs: Verb[] = ["push", "pop", "ack", "configure", "reset", "delete", "queues", "depth"];
  const use = (binding: EphemeralBinding): Record<Verb, () => Promise<unknown>> => ({
    push: () => binding.push(queue, [1]),
    pop: () => binding.pop(queue),
    ack: () => binding.ack(queue, []),
    configure: () => binding.configure(queue),
    reset: () => binding.reset(queue),
    depth: () => binding.depth(queue),
    delete: () => binding.delete(queue),
    queues: () => binding.queues(),
  });
  await broker.configure(queue);
  for (const verb of verbs) {
    const only = use(confined({ verbs: [verb] }));
    await only[verb]();
    if (verb === "delete") await broker.configure(queue);
    for (const other of verbs) {
      if (other === verb) continue;
      const failed = await failure(only[other]());
      expect(failed).toMatchObject({
        code: "forbidden",
        status: 403,
        message: expect.stringContaining(other) as string,
      });
    }
  }
  expect(await failure(use(confined({ verbs: [] })).queues())).toMatchObject({ code: "forbidden" });
});
