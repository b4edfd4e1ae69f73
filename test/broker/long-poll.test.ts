import { expect, it } from "vitest";
import {
  ackOne,
  configure,
  freshQueue,
  listed,
  parked,
  partitionAway,
  partitionsAway,
  payloadsOf,
  pop,
  popOne,
  popPayloads,
  push,
  waitingPop,
  type Popped,
} from "./support.ts";

/** Parks pops one after the other, so that their order is known. The parked ones of a test start at zero. */
async function parkInOrder(pops: readonly (() => Promise<Popped[]>)[]): Promise<Promise<Popped[]>[]> {
  const waiting: Promise<Popped[]>[] = [];
  for (const start of pops) {
    waiting.push(start());
    await parked(waiting.length);
  }
  return waiting;
}

it.each(["Default", "away"])("wakes a pop of a partition by a push to it (%s)", async (where) => {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  const waiting = waitingPop(queue, { partition });
  await parked(1);
  await push(queue, ["x"], partition);
  expect(await waiting).toMatchObject([{ partition, attempts: 1, payload: "x" }]);
});

it.each(["Default", "away"])("wakes a pop of any partition by a push to a new one (%s)", async (where) => {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  const waiting = waitingPop(queue);
  await parked(1);
  await push(queue, ["x"], partition);
  expect(await waiting).toMatchObject([{ partition, attempts: 1, payload: "x" }]);
});

it("wakes a pop of any partition again and again, by pushes to one that another owner has long had", async () => {
  const queue = freshQueue();
  const partitions = partitionsAway(queue, 3);
  for (const partition of partitions) await pop(queue, { partition });
  for (let i = 0; i < 9; i++) {
    const waiting = waitingPop(queue);
    await parked(1);
    await push(queue, [i], partitions[i % 3]);
    const [message] = await waiting;
    expect(message).toMatchObject({ payload: i, partition: partitions[i % 3] });
    expect(await ackOne(queue, { id: message?.id ?? "" })).toBe("acked");
  }
});

it("loses no wake-up when pops and pushes race", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 3)];
  const waiting = Array.from({ length: 60 }, () => waitingPop(queue));
  await Promise.all(Array.from({ length: 60 }, (_, i) => push(queue, [i], partitions[i % partitions.length])));
  const got = (await Promise.all(waiting)).flatMap(payloadsOf);
  expect(got.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, i) => i));
});

it("does not wake a pop by a push to another partition or queue", async () => {
  const [queue, other] = [freshQueue(), freshQueue()];
  const [mine, yours] = partitionsAway(queue, 2) as [string, string];
  const waiting = waitingPop(queue, { partition: mine });
  await parked(1);
  await push(queue, ["no"], yours);
  await push(queue, ["no"]);
  await push(other, ["no"], mine);
  await parked(1);
  await push(queue, ["yes"], mine);
  expect(payloadsOf(await waiting)).toEqual(["yes"]);
});

it.each(["Default", "away"])("serves pops of a partition in the order in which they came (%s)", async (where) => {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  const waiting = await parkInOrder(Array.from({ length: 4 }, () => () => waitingPop(queue, { partition })));
  for (const payload of [1, 2, 3, 4]) await push(queue, [payload], partition);
  expect((await Promise.all(waiting)).map(payloadsOf)).toEqual([[1], [2], [3], [4]]);
});

it("serves pops of any partition in the order in which they came, from wherever messages come", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 3)];
  const waiting = await parkInOrder(Array.from({ length: 4 }, () => () => waitingPop(queue)));
  for (const [i, partition] of partitions.entries()) {
    await push(queue, [i], partition);
    await parked(3 - i);
  }
  expect((await Promise.all(waiting)).map(payloadsOf)).toEqual([[0], [1], [2], [3]]);
});

it("serves pops of one partition and of any in one order", async () => {
  const queue = freshQueue();
  const waiting = await parkInOrder([
    () => waitingPop(queue),
    () => waitingPop(queue, { partition: "Default" }),
    () => waitingPop(queue),
  ]);
  for (const payload of [1, 2, 3]) await push(queue, [payload]);
  expect((await Promise.all(waiting)).map(payloadsOf)).toEqual([[1], [2], [3]]);
});

it("wakes one pop per message, and fills the first one's batch first", async () => {
  const queue = freshQueue();
  const [first, second, third] = await parkInOrder([
    () => waitingPop(queue, { batch: 2 }),
    () => waitingPop(queue, { batch: 5 }),
    () => waitingPop(queue, { batch: 5 }),
  ]);
  await push(queue, [1, 2, 3]);
  expect(payloadsOf((await first) ?? [])).toEqual([1, 2]);
  expect(payloadsOf((await second) ?? [])).toEqual([3]);
  await parked(1);
  await push(queue, [4]);
  expect(payloadsOf((await third) ?? [])).toEqual([4]);
});

it("does not let a pop that comes later overtake one that waits", async () => {
  const queue = freshQueue();
  await configure(queue, { windowBuffer: { count: 3 } });
  const waiting = waitingPop(queue, { batch: 3 });
  await parked(1);
  const later = waitingPop(queue, { batch: 1 });
  await parked(2);
  await push(queue, [1, 2, 3, 4]);
  expect(payloadsOf(await waiting)).toEqual([1, 2, 3]);
  expect(payloadsOf(await later)).toEqual([4]);
});

it("hands a pushed message to a parked pop of every group", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  const waiting = [{}, { group: "a" }, { group: "b", partition }].map((place) => waitingPop(queue, place));
  await parked(3);
  await push(queue, ["x"], partition);
  const answers = await Promise.all(waiting);
  expect(answers.map(payloadsOf)).toEqual([["x"], ["x"], ["x"]]);
  expect(new Set(answers.flat().map(({ id }) => id)).size).toBe(1);
});

it.each([
  ["any partition", false],
  ["one partition", true],
])("ends a wait on %s with an empty array when its time is over", async (_, named) => {
  const queue = freshQueue();
  const place = named ? { partition: partitionAway(queue) } : {};
  await pop(queue, { partition: partitionAway(queue) });
  expect(await pop(queue, { wait: true, timeout: 60, ...place })).toEqual([]);
  await parked(0);
  // Nobody is there any more to take it.
  await push(queue, ["x"], partitionAway(queue));
  expect(await popOne(queue, place)).toMatchObject({ payload: "x", attempts: 1 });
});

it("takes a parked pop with autoAck for consumed at its delivery", async () => {
  const queue = freshQueue();
  const waiting = waitingPop(queue, { autoAck: true });
  await parked(1);
  await push(queue, ["x"], partitionAway(queue));
  const [message] = await waiting;
  expect(message).toMatchObject({ payload: "x", attempts: 1 });
  expect(await listed(queue)).toMatchObject({ depth: 0 });
  expect(await ackOne(queue, { id: message?.id ?? "" })).toBe("unknown");
});

it.each(["Default", "away"])("wakes a parked pop at the moment a lease expires (%s)", async (where) => {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  await configure(queue, { leaseSeconds: 1 });
  await push(queue, ["x", "y"], partition);
  const leased = await pop(queue, { batch: 2 });
  const ids = leased.map(({ id }) => id);
  // In real time: no request that would move the owner's clock comes meanwhile.
  const [any, named] = await Promise.all([waitingPop(queue), waitingPop(queue, { partition })]);
  const got = [...any, ...named];
  expect(got.map(({ id }) => id).sort()).toEqual(ids.sort());
  expect(got.map(({ attempts }) => attempts)).toEqual([2, 2]);
});

it("counts a message that a push hands to a parked pop within the queue's bounds", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 2 });
  const waiting = waitingPop(queue, { batch: 2 });
  await parked(1);
  await push(queue, [1, 2]);
  expect(payloadsOf(await waiting)).toEqual([1, 2]);
  expect((await listed(queue))?.depth).toBe(2);
  expect(await popPayloads(queue)).toEqual([]);
});
