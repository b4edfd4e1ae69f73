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
  partitionsAway,
  payloadsOf,
  pop,
  popOne,
  popPayloads,
  post,
  push,
  read,
  reset,
  waitingPop,
} from "./support.ts";

it("drops every message, leased or not, on every owner", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 5)];
  for (const partition of partitions) await push(queue, [1, 2], partition);
  const leased = await pop(queue, { batch: 4 });
  expect(await reset(queue)).toEqual({ queue, dropped: 12 });
  expect(await listed(queue)).toMatchObject({ depth: 0, bytes: 0, partitions: 6, groups: 1 });
  expect(await pop(queue, { batch: 99 })).toEqual([]);
  expect(await ack(queue, leased)).toEqual(leased.map(() => "unknown"));
  expect((await listed(queue))?.drops).toEqual({ bounds: 0, ttl: 0, retry: 0 });
});

it("keeps declaration, groups and partitions", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 7 });
  await push(queue, [1], "a");
  await push(queue, [1], partitionAway(queue));
  await pop(queue, { group: "g" });
  await pop(queue, { group: "h", partition: "a" });
  const before = await listed(queue);
  await reset(queue);
  expect(await listed(queue)).toEqual({ ...before, depth: 0, bytes: 0 });
  expect((await depth(queue)).groups.map(({ group }) => group)).toEqual(["g", "h"]);
});

it("moves every group to the tail, and a group that comes later starts there too", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await push(queue, ["old"], partition);
  await pop(queue, { group: "behind", partition: "x" });
  await reset(queue);
  await push(queue, ["new"], partition);
  expect(await popPayloads(queue, { group: "behind", batch: 9 })).toEqual(["new"]);
  expect(await popPayloads(queue, { group: "later", batch: 9 })).toEqual(["new"]);
});

it("clears redeliveries and attempts", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2]);
  const { id } = await popOne(queue);
  await ackOne(queue, { id, status: "retry" });
  await reset(queue);
  expect(await pop(queue)).toEqual([]);
  expect((await depth(queue)).pending).toBe(0);
  await push(queue, [3]);
  const next = await popOne(queue);
  expect(next).toMatchObject({ payload: 3, attempts: 1 });
  expect(next.id).not.toBe(id);
});

it("answers 0 for a queue that is empty or unknown, and creates none", async () => {
  const queue = freshQueue();
  expect(await reset(queue)).toEqual({ queue, dropped: 0 });
  expect(await listed(queue)).toBeUndefined();
  await pop(queue);
  expect(await reset(queue)).toEqual({ queue, dropped: 0 });
});

it("ignores fields that it does not know", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  expect(await read(post("reset", { queue, group: 7, partition: {} }))).toEqual({ queue, dropped: 1 });
});

it("leaves other queues alone", async () => {
  const [one, two] = [freshQueue(), freshQueue()];
  await push(one, [1]);
  await push(two, [2]);
  await reset(one);
  expect(await popPayloads(two)).toEqual([2]);
});

it("frees the room that the messages took", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 1 });
  await push(queue, [1]);
  await popOne(queue);
  await reset(queue);
  await push(queue, [2]);
  expect(await popPayloads(queue)).toEqual([2]);
});

it("leaves parked pops waiting, and they see the next push", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await pop(queue, { partition });
  const any = waitingPop(queue, { group: "a" });
  const named = waitingPop(queue, { group: "b", partition });
  await parked(2);
  await reset(queue);
  await parked(2);
  await push(queue, ["x"], partition);
  expect((await Promise.all([any, named])).map(payloadsOf)).toEqual([["x"], ["x"]]);
});
