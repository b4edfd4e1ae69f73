import { expect, it } from "vitest";
import { timersFollowTheClock } from "./checkpoint-support.ts";
import {
  ack,
  ackOne,
  call,
  configure,
  depth,
  dropGroup,
  freshQueue,
  owners,
  parked,
  partitionAway,
  partitionsAway,
  passTime,
  payloadsOf,
  pop,
  popPayloads,
  push,
  pushTexts,
  read,
  refused,
  remove,
  reset,
  waitingPop,
} from "./support.ts";
import {
  aMoment,
  place,
  PLACES,
  subscribe,
  subscribed,
  subscribePath,
  subscribersEndWithTheirTest,
} from "./subscribe-support.ts";

timersFollowTheClock();
subscribersEndWithTheirTest();

it.each(PLACES)("says what was subscribed to, and sends messages as they come: %s", async (_, where, named) => {
  const { queue, partition, parameters } = place(where, named);
  const subscriber = await subscribe(queue, { ...parameters, group: "g", prefetch: 7 });
  for (const payload of [1, 2, 3]) await push(queue, [payload], partition);
  expect(await subscriber.has(3)).toEqual([1, 2, 3]);
  expect(subscriber.frames[0]).toEqual({
    type: "subscribed",
    queue,
    partition: named ? partition : null,
    group: "g",
    prefetch: 7,
  });
  expect(subscriber.messages).toMatchObject([{ partition, attempts: 1 }, {}, {}]);
  expect(new Set(subscriber.frames.slice(1).map(({ type }) => type))).toEqual(new Set(["messages"]));
});

it.each(PLACES)("starts with what waits, and goes no further than its credit: %s", async (_, where, named) => {
  const { queue, partition, parameters } = place(where, named);
  await push(queue, [1, 2, 3, 4, 5], partition);
  const subscriber = await subscribe(queue, { ...parameters, prefetch: 2 });
  expect(await subscriber.has(2)).toEqual([1, 2]);
  await aMoment();
  expect(await subscriber.has(2)).toEqual([1, 2]);
  expect(await subscriber.ack([{ id: subscriber.messages[0]?.id ?? "" }])).toEqual(["acked"]);
  expect(await subscriber.has(3)).toEqual([1, 2, 3]);
  expect(await subscriber.ackAll()).toEqual(["unknown", "acked", "acked"]);
  expect(await subscriber.has(5)).toEqual([1, 2, 3, 4, 5]);
  await subscriber.ackAll();
  expect((await depth(queue)).pending).toBe(0);
  expect(await pop(queue, { batch: 10 })).toEqual([]);
});

it.each(PLACES)("delivers again what is retried or failed: %s", async (_, where, named) => {
  const { queue, partition, parameters } = place(where, named);
  const subscriber = await subscribe(queue, { ...parameters, prefetch: 1 });
  await push(queue, ["x"], partition);
  await subscriber.has(1);
  expect(await subscriber.ackAll("retry")).toEqual(["redelivered"]);
  await subscriber.has(2);
  expect(await subscriber.ackAll("failed")).toEqual(["redelivered", "unknown"]);
  await subscriber.has(3);
  expect(subscriber.messages.map(({ attempts }) => attempts)).toEqual([1, 2, 3]);
  expect(new Set(subscriber.messages.map(({ id }) => id)).size).toBe(1);
});

it.each(PLACES)("gets back credit and message when a lease ends: %s", async (_, where, named) => {
  const { queue, partition, parameters } = place(where, named);
  await configure(queue, { leaseSeconds: 1 });
  const subscriber = await subscribe(queue, { ...parameters, prefetch: 1 });
  await push(queue, ["x"], partition);
  await subscriber.has(1);
  passTime(1000);
  await subscriber.has(2);
  expect(subscriber.messages.map(({ attempts }) => attempts)).toEqual([1, 2]);
  expect(await subscriber.ack([{ id: subscriber.messages[0]?.id ?? "", attempts: 1 }])).toEqual(["unknown"]);
  expect(await subscriber.ack([{ id: subscriber.messages[0]?.id ?? "", attempts: 2 }])).toEqual(["acked"]);
});

it.each(PLACES)("gives back at once what is out when its socket closes: %s", async (_, where, named) => {
  const { queue, partition, parameters } = place(where, named);
  await configure(queue, { leaseSeconds: 600, retryLimit: 1 });
  const subscriber = await subscribe(queue, { ...parameters, group: "g", prefetch: 2 });
  await push(queue, [1, 2, 3], partition);
  await subscriber.has(2);
  const waiting = waitingPop(queue, { ...parameters, group: "g", batch: 3 });
  expect(payloadsOf(await waiting)).toEqual([3]);
  const next = waitingPop(queue, { ...parameters, group: "g", batch: 3 });
  await parked(1);
  subscriber.close();
  // A lost connection gives nothing up, whatever the retry limit.
  expect(await next).toMatchObject([
    { payload: 1, attempts: 2 },
    { payload: 2, attempts: 2 },
  ]);
});

it.each(PLACES)("settles a batch as a whole: %s", async (_, where, named) => {
  const { queue, partition, parameters } = place(where, named);
  await push(queue, [1, 2, 3], partition);
  const subscriber = await subscribe(queue, { ...parameters, prefetch: 2 });
  await subscriber.has(2);
  expect(await subscriber.ack([{ id: subscriber.messages[1]?.id ?? "", status: "retry" }])).toEqual(["redelivered"]);
  // What is retried comes again, in a batch of its own.
  expect(await subscriber.has(3)).toEqual([1, 2, 2]);
  const [first] = subscriber.batches;
  expect(await subscriber.ackBatch(first)).toBe(1);
  expect(await subscriber.has(4)).toEqual([1, 2, 2, 3]);
  expect(await subscriber.ackBatch(first)).toBe(0);
  const [, second, third = 0] = subscriber.batches;
  for (const [batch, acked] of [
    [second, 1],
    [third, 1],
    [third + 1, 0],
  ]) {
    expect(await subscriber.ackBatch(batch)).toBe(acked);
  }
  expect((await depth(queue)).pending).toBe(0);
  subscriber.close();
  await subscribed(0);
  expect(await pop(queue, { batch: 10 })).toEqual([]);
});

it("settles a batch that came from several owners", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 3)];
  const subscriber = await subscribe(queue, { prefetch: 100 });
  for (const partition of partitions) await push(queue, [partition, partition], partition);
  await subscriber.has(2 * partitions.length);
  let acked = 0;
  for (const batch of subscriber.batches) acked += (await subscriber.ackBatch(batch)) as number;
  expect(acked).toBe(2 * partitions.length);
  subscriber.close();
  await subscribed(0);
  expect(await pop(queue, { batch: 100 })).toEqual([]);
});

it("shares messages within a group, in turn, and repeats them for another", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  const [a, b] = [await subscribe(queue, { partition, group: "g" }), await subscribe(queue, { partition, group: "g" })];
  const c = await subscribe(queue, { partition, group: "h" });
  for (const payload of [1, 2, 3, 4]) await push(queue, [payload], partition);
  expect(await c.has(4)).toEqual([1, 2, 3, 4]);
  expect(await a.has(2)).toEqual([1, 3]);
  expect(await b.has(2)).toEqual([2, 4]);
});

it("stands in one line with parked pops", async () => {
  const queue = freshQueue();
  const subscriber = await subscribe(queue);
  const waiting = waitingPop(queue);
  await parked(1);
  for (const payload of [1, 2, 3]) await push(queue, [payload]);
  expect(payloadsOf(await waiting)).toEqual([2]);
  expect(await subscriber.has(2)).toEqual([1, 3]);
});

it.each(["Default", "away"])("keeps the order of a partition under load: %s", async (where) => {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  const subscriber = await subscribe(queue, { prefetch: 20 });
  const count = 300;
  for (let i = 0; i < count; i += 10) {
    const payloads = Array.from({ length: 10 }, (_, n) => i + n);
    await push(queue, payloads, partition);
    const late = subscriber.messages.map(({ id }) => ({ id }));
    subscriber.send({ type: "ack", acks: late });
  }
  while (subscriber.messages.length < count) {
    subscriber.send({ type: "ack", acks: subscriber.messages.map(({ id }) => ({ id })) });
    await scheduler.wait(5);
  }
  expect(await subscriber.has(count)).toEqual(Array.from({ length: count }, (_, i) => i));
});

it("serves every partition, wherever it lives, also those that come later", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 3)];
  const subscriber = await subscribe(queue, { prefetch: 100 });
  for (let i = 0; i < 12; i++) await push(queue, [i], partitions[i % 4]);
  await subscriber.has(12);
  expect(subscriber.payloads.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i));
  expect(new Set(await subscriber.ackAll())).toEqual(new Set(["acked"]));
  expect((await depth(queue)).pending).toBe(0);
});

it("pushes over the socket, to its own queue and to others, and a payload stays the text that it was", async () => {
  const queue = freshQueue();
  const inbox = freshQueue();
  const partition = partitionAway(queue);
  const subscriber = await subscribe(queue, { partition });
  const text = `{"type":"push","ref":17,"partition":${JSON.stringify(partition)},"messages":[{"payload":{"a" : 1.0,"b":12345678901234567890}}]}`;
  subscriber.send(text);
  await subscriber.has(1);
  expect(subscriber.texts.find((frame) => frame.includes('"messages"'))).toContain(
    '"payload":{"a" : 1.0,"b":12345678901234567890}',
  );
  await expect.poll(() => subscriber.texts).toContain('{"type":"pushed","ref":17,"pushed":1}');
  expect(
    await subscriber.ask({ type: "push", queue: inbox, messages: [{ payload: 1 }, { payload: 2 }] }),
  ).toMatchObject({
    type: "pushed",
    pushed: 2,
  });
  expect(await popPayloads(inbox, { batch: 5 })).toEqual([1, 2]);
  subscriber.send({ type: "push", messages: [{ payload: "silent" }] });
  expect(payloadsOf(await waitingPop(queue, { partition: "Default" }))).toEqual(["silent"]);
});

it("pushes of one socket keep their order, to whichever owner", async () => {
  const queue = freshQueue();
  const [away] = partitionsAway(queue);
  const sender = await subscribe(queue, { partition: "Default", group: "sender" });
  for (let i = 0; i < 100; i++) sender.send({ type: "push", partition: away, messages: [{ payload: i }] });
  const receiver = await subscribe(queue, { partition: String(away), prefetch: 1000 });
  expect(await receiver.has(100)).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

it("a push that is refused is an error with its ref, and the socket stays", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 1 });
  const subscriber = await subscribe(queue, { partition: "other" });
  expect(await subscriber.ask({ type: "push", messages: [{ payload: 1 }, { payload: 2 }] })).toMatchObject({
    type: "error",
    code: "queue_full",
  });
  expect(await subscriber.ask({ type: "push", messages: [{ payload: 1 }] })).toMatchObject({ type: "pushed" });
  subscriber.send({ type: "push", messages: [{ payload: 1 }] });
  await expect.poll(() => subscriber.frames.at(-1)).toMatchObject({ type: "error", code: "queue_full" });
  expect(subscriber.frames.at(-1)).not.toHaveProperty("ref");
});

it("an ack of ids that are none, or of another life, settles nothing", async () => {
  const queue = freshQueue();
  const subscriber = await subscribe(queue, { prefetch: 1 });
  await push(queue, [1, 2]);
  await subscriber.has(1);
  expect(await subscriber.ack([{ id: "what" }, { id: "e:abc:Default:0" }])).toEqual(["unknown", "stale"]);
});

it("an ack over HTTP counts like any other; its credit comes back with the client's word or the lease", async () => {
  const queue = freshQueue();
  const subscriber = await subscribe(queue, { prefetch: 1 });
  await push(queue, [1, 2]);
  await subscriber.has(1);
  expect(await ackOne(queue, { id: subscriber.messages[0]?.id ?? "" })).toBe("acked");
  expect(await subscriber.ackAll()).toEqual(["unknown"]);
  expect(await subscriber.has(2)).toEqual([1, 2]);
});

it.each([
  ["not JSON", "{"],
  ["no object", "[]"],
  ["no type", "{}"],
  ["an unknown type", '{"type":"pop"}'],
  ["a type that is no text", '{"type":{"a":1}}'],
  ["an ack without acks", '{"type":"ack"}'],
  ["an ack of something else", '{"type":"ack","acks":[{"id":1}]}'],
  ["a push without messages", '{"type":"push"}'],
  ["a push to an illegal name", '{"type":"push","queue":"","messages":[]}'],
  ["a ref that is an object", '{"type":"push","ref":{},"messages":[]}'],
])("closes with 4400 for a bad frame: %s", async (_, text) => {
  const queue = freshQueue();
  const subscriber = await subscribe(queue, { group: "g" });
  await push(queue, ["kept"]);
  await subscriber.has(1);
  subscriber.send(text);
  const { code, reason } = await subscriber.closed;
  expect(code).toBe(4400);
  expect(reason).not.toBe("");
  expect(await pop(queue, { group: "g" })).toMatchObject([{ payload: "kept", attempts: 2 }]);
});

it("closes with 4400 for a binary frame", async () => {
  const subscriber = await subscribe(freshQueue());
  subscriber.sendBytes(new TextEncoder().encode('{"type":"ack","acks":[]}'));
  expect(await subscriber.closed).toMatchObject({ code: 4400, reason: "frames are text" });
});

it.each(PLACES)("closes with 4404 when the queue is deleted: %s", async (_, where, named) => {
  const { queue, partition, parameters } = place(where, named);
  const subscriber = await subscribe(queue, { ...parameters, group: "g", prefetch: 1 });
  await push(queue, [1, 2], partition);
  await subscriber.has(1);
  expect(await remove(queue)).toMatchObject({ deleted: true });
  const { code, reason } = await subscriber.closed;
  expect(code).toBe(4404);
  // Said before, as a close may take its time on the way.
  expect(subscriber.frames.at(-1)).toEqual({ type: "end", code, reason });
  await subscribed(0);
  const again = await subscribe(queue, { ...parameters, group: "g" });
  await push(queue, [3], partition);
  expect(await again.has(1)).toEqual([3]);
});

it.each(PLACES)("goes on after a reset, with all of its credit: %s", async (_, where, named) => {
  const { queue, partition, parameters } = place(where, named);
  const subscriber = await subscribe(queue, { ...parameters, group: "g", prefetch: 1 });
  await push(queue, [1, 2], partition);
  await subscriber.has(1);
  expect(await reset(queue)).toMatchObject({ dropped: 2 });
  await push(queue, [3], partition);
  expect(await subscriber.has(2)).toEqual([1, 3]);
});

it.each(PLACES)("goes on after its group was dropped, as a new one: %s", async (_, where, named) => {
  const { queue, partition, parameters } = place(where, named);
  await pop(queue, { ...parameters, group: "keeper" });
  const subscriber = await subscribe(queue, { ...parameters, group: "g", prefetch: 1 });
  await push(queue, [1], partition);
  await subscriber.has(1);
  expect(await dropGroup(queue, "g")).toMatchObject({ deleted: true });
  expect(await subscriber.has(2)).toEqual([1, 1]);
  expect(subscriber.messages.map(({ attempts }) => attempts)).toEqual([1, 1]);
  expect(await subscriber.ackAll()).toEqual(["acked", "unknown"]);
  await push(queue, [2], partition);
  expect(await subscriber.has(3)).toEqual([1, 1, 2]);
});

it("closes with 4408 when all that is sent lies unread", { timeout: 30_000 }, async () => {
  const queue = freshQueue();
  await configure(queue, { leaseSeconds: 1, retryLimit: 1000 });
  const subscriber = await subscribe(queue);
  for (let i = 0; i < 3; i++) await pushTexts(queue, [`"${"x".repeat(3_000_000)}"`]);
  expect(await subscriber.closed).toMatchObject({ code: 4408 });
  // No more than what may be unsettled was ever out at once.
  expect(subscriber.messages.length).toBeGreaterThan(5);
  expect((await depth(queue)).pending).toBe(3);
});

it("answers a ping", async () => {
  const subscriber = await subscribe(freshQueue());
  subscriber.send("ping");
  await expect.poll(() => subscriber.texts).toContain("pong");
});

it("is no parked pop, and is counted", async () => {
  const queue = freshQueue();
  await subscribe(queue);
  await subscribe(queue, { partition: partitionAway(queue) });
  await subscribed(2);
  expect((await owners()).reduce((sum, { parkedPops }) => sum + parkedPops, 0)).toBe(0);
  expect(await (await call("/metrics")).text()).toContain("\nwaggle_ephemeral_subscribers 2\n");
});

it("pays no heed to a windowBuffer", async () => {
  const queue = freshQueue();
  await configure(queue, { windowBuffer: { count: 5 } });
  const subscriber = await subscribe(queue);
  await push(queue, [1]);
  expect(await subscriber.has(1)).toEqual([1]);
});

it("a hundred subscribers of one group each get their share, and nothing comes twice", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 3)];
  const subscribers = await Promise.all(Array.from({ length: 100 }, () => subscribe(queue, { prefetch: 2 })));
  await Promise.all(Array.from({ length: 200 }, (_, i) => push(queue, [i], partitions[i % 4])));
  const got = () => subscribers.flatMap(({ payloads }) => payloads);
  await expect.poll(() => got().length, { timeout: 10_000 }).toBe(200);
  expect(
    got()
      .map(Number)
      .sort((a, b) => a - b),
  ).toEqual(Array.from({ length: 200 }, (_, i) => i));
});

it("what is out on a socket is leased for its group", async () => {
  const queue = freshQueue();
  const subscriber = await subscribe(queue, { group: "g" });
  await push(queue, [1]);
  await subscriber.has(1);
  expect(await pop(queue, { group: "g" })).toEqual([]);
  const entries = subscriber.messages.map(({ id, attempts }) => ({ id, attempts }));
  expect(await ack(queue, entries, "other")).toEqual(["unknown"]);
  expect(await ack(queue, entries, "g")).toEqual(["acked"]);
});

it("a request that is no upgrade is told so", async () => {
  await refused(call(subscribePath(freshQueue())), 426, "upgrade_required");
});

it("a bad query is refused before anything is opened", async () => {
  const headers = { upgrade: "websocket" };
  await refused(call("/api/v1/ephemeral/subscribe", { headers }), 400, "ephemeral_bad_request");
  await refused(call(subscribePath("a\nb"), { headers }), 400, "ephemeral_bad_request");
  expect(await read(call("/health"))).toMatchObject({ status: "ok" });
});
