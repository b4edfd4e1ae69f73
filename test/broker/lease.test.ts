import { expect, it } from "vitest";
import {
  ack,
  ackOne,
  configure,
  depth,
  freshQueue,
  listed,
  parked,
  partitionAway,
  passTime,
  payloadsOf,
  pop,
  popOne,
  popPayloads,
  push,
  waitingPop,
} from "./support.ts";

it("leases a message for 30 s by default, from its delivery", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await push(queue, ["x"], partition);
  passTime(60_000);
  const { id } = await popOne(queue, { partition });
  passTime(28_000);
  expect(await pop(queue, { partition })).toEqual([]);
  passTime(2000);
  expect(await popOne(queue, { partition })).toMatchObject({ id, attempts: 2, payload: "x" });
});

it("leases for as long as the queue's options say", async () => {
  const queue = freshQueue();
  await configure(queue, { leaseSeconds: 120 });
  await push(queue, ["x"]);
  await popOne(queue);
  passTime(118_000);
  expect(await pop(queue)).toEqual([]);
  passTime(2000);
  expect((await popOne(queue)).attempts).toBe(2);
});

it("fixes a lease at delivery: later options leave it alone", async () => {
  const queue = freshQueue();
  await push(queue, ["x"]);
  await popOne(queue);
  await configure(queue, { leaseSeconds: 3600 });
  passTime(30_000);
  expect((await popOne(queue)).attempts).toBe(2);
  await configure(queue, { leaseSeconds: 1 });
  passTime(30_000);
  expect(await pop(queue)).toEqual([]);
});

it("does not count what is leased as pending, and counts it as held", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2, 3]);
  await pop(queue, { batch: 2 });
  expect((await depth(queue)).pending).toBe(1);
  expect((await listed(queue))?.depth).toBe(3);
  passTime(30_000);
  expect((await depth(queue)).pending).toBe(3);
});

it("hands redeliveries out first, oldest first, then what is new", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2, 3, 4, 5]);
  const popped = await pop(queue, { batch: 4 });
  const [one, two, three, four] = popped.map(({ id }) => ({ id, status: "retry" }));
  if (one === undefined || two === undefined || three === undefined || four === undefined)
    throw new Error("4 expected");
  await ack(queue, [four, two]);
  await ack(queue, [three]);
  const again = await pop(queue, { batch: 10 });
  expect(payloadsOf(again)).toEqual([2, 3, 4, 5]);
  expect(again.map(({ attempts }) => attempts)).toEqual([2, 2, 2, 1]);
  expect(again.slice(0, 3).map(({ id }) => id)).toEqual([two.id, three.id, four.id]);
});

it("gives a message up when its last lease expires", async () => {
  const queue = freshQueue();
  await configure(queue, { retryLimit: 2, leaseSeconds: 10 });
  await push(queue, [1]);
  await popOne(queue);
  passTime(10_000);
  await popOne(queue);
  passTime(10_000);
  expect(await pop(queue)).toEqual([]);
  expect(await listed(queue)).toMatchObject({ depth: 0, drops: { bounds: 0, ttl: 0, retry: 1 } });
});

it("gives a message up for one group and not for another", async () => {
  const queue = freshQueue();
  await configure(queue, { retryLimit: 1 });
  await push(queue, [1]);
  const { id } = await popOne(queue, { group: "a" });
  await pop(queue, { group: "b", partition: "none yet" });
  expect(await ackOne(queue, { id, status: "failed" }, "a")).toBe("acked");
  expect(await listed(queue)).toMatchObject({ depth: 1, drops: { retry: 1 } });
  expect(await popOne(queue, { group: "b" })).toMatchObject({ id, attempts: 1 });
});

it("takes an ack after the deadline, as long as nobody else has the message", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2]);
  const [first, second] = await pop(queue, { batch: 2 });
  passTime(31_000);
  expect((await depth(queue)).pending).toBe(2);
  expect(await ackOne(queue, { id: first?.id ?? "" })).toBe("acked");
  expect(await ackOne(queue, { id: second?.id ?? "", status: "retry" })).toBe("redelivered");
  expect(await popOne(queue, { batch: 9 })).toMatchObject({ payload: 2, attempts: 2 });
});

it("takes an ack without attempts after the message was handed to somebody else, and one with them not", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const { id } = await popOne(queue);
  passTime(31_000);
  expect((await popOne(queue)).attempts).toBe(2);
  expect(await ackOne(queue, { id, attempts: 1 })).toBe("unknown");
  expect(await ackOne(queue, { id, attempts: 2 })).toBe("acked");
});

it("wakes a parked pop at once when a message is returned", async () => {
  const queue = freshQueue();
  await push(queue, ["x"]);
  const { id } = await popOne(queue);
  const waiting = waitingPop(queue);
  await parked(1);
  await ackOne(queue, { id, status: "retry" });
  expect(payloadsOf(await waiting)).toEqual(["x"]);
});

it("counts attempts per group", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  for (let attempt = 1; attempt <= 3; attempt++) {
    const { id, attempts } = await popOne(queue, { group: "a" });
    expect(attempts).toBe(attempt);
    await ackOne(queue, { id, status: "retry" }, "a");
  }
  expect((await popOne(queue, { group: "b" })).attempts).toBe(1);
  expect(await popPayloads(queue, { group: "a" })).toEqual([1]);
});

it.each(["autoAck", "commitOnDelivery"])(
  "hands a message out at most once with %s, with no lease to settle",
  async (name) => {
    const queue = freshQueue();
    const partition = partitionAway(queue);
    await push(queue, [1, 2], partition);
    const { id, attempts } = await popOne(queue, { [name]: true });
    expect(attempts).toBe(1);
    expect((await listed(queue))?.depth).toBe(1);
    expect(await ackOne(queue, { id })).toBe("unknown");
    expect(await ackOne(queue, { id, status: "retry" })).toBe("unknown");
    passTime(31_000);
    expect(await popPayloads(queue, { batch: 9 })).toEqual([2]);
  },
);

it("hands a message that came back out with autoAck, at its later attempt", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const { id } = await popOne(queue);
  expect(await ackOne(queue, { id, status: "retry" })).toBe("redelivered");
  expect(await popOne(queue, { autoAck: true })).toMatchObject({ id, attempts: 2 });
  expect(await listed(queue)).toMatchObject({ depth: 0 });
});
