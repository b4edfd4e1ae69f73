import { abortAllDurableObjects } from "cloudflare:test";
import { expect, it } from "vitest";
import {
  ackOne,
  call,
  configure,
  depthPath,
  freshQueue,
  list,
  listed,
  OWNERS,
  owners,
  parked,
  partitionAway,
  partitionsAway,
  payloadsOf,
  pop,
  popOne,
  popPayloads,
  push,
  refused,
  remove,
  tryPush,
  waitingPop,
} from "./support.ts";

it("answers that there was nothing for a queue that never existed", async () => {
  const queue = freshQueue();
  expect(await remove(queue)).toEqual({ queue, deleted: false, declared: false });
  expect(await listed(queue)).toBeUndefined();
});

it.each(["Default", "away"])("deletes an implicit queue with messages in %s", async (where) => {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  await push(queue, [1], partition);
  const { id } = await popOne(queue, { partition });
  expect(await remove(queue)).toEqual({ queue, deleted: true, declared: false });
  expect(await listed(queue)).toBeUndefined();
  await refused(call(depthPath(queue)), 404, "ephemeral_queue_not_found");
  expect(await ackOne(queue, { id })).toBe("unknown");
  expect(await remove(queue)).toEqual({ queue, deleted: false, declared: false });
});

it("deletes a queue that is empty", async () => {
  const queue = freshQueue();
  await pop(queue);
  expect(await remove(queue)).toEqual({ queue, deleted: true, declared: false });
});

it("deletes a declared queue, with its declaration", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 1 });
  expect(await remove(queue)).toEqual({ queue, deleted: true, declared: true });
  await push(queue, [1, 2]);
  expect(await listed(queue)).toMatchObject({ tier: "implicit", depth: 2 });
  await refused(
    tryPush(
      queue,
      Array.from({ length: 9999 }, () => 0),
    ),
    429,
    "queue_full",
  );
});

it("deletes contents and groups on every owner", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 7)];
  for (const partition of partitions) await push(queue, [partition], partition);
  await pop(queue, { group: "g", batch: 3 });
  await remove(queue);
  const held = (await owners(queue)).map((owner) => owner.partitions);
  expect(held).toEqual(Array.from({ length: OWNERS }, () => []));
  for (const partition of partitions) await push(queue, ["new"], partition);
  const answer = await pop(queue, { group: "g", batch: 99 });
  expect(payloadsOf(answer)).toEqual(partitions.map(() => "new"));
  expect((await listed(queue))?.groups).toBe(1);
});

it("gives the memory back", async () => {
  const queue = freshQueue();
  const before = (await list()).cellBytes;
  await push(queue, ["x".repeat(1000)], partitionAway(queue));
  expect((await list()).cellBytes).toBe(before + 1002);
  await remove(queue);
  expect((await list()).cellBytes).toBe(before);
});

it("takes a name from the path as it was encoded", async () => {
  const queue = `${freshQueue()} a/b:c?d#e%41+é`;
  await push(queue, [1]);
  expect(await remove(queue)).toEqual({ queue, deleted: true, declared: false });
});

it.each([
  ["parked on the home's partition", "Default"],
  ["parked on a partition of another owner", "away"],
  ["parked on any partition", null],
])("lets pops %s go on, and see the next push", async (_, where) => {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  const place = partition === null ? {} : { partition };
  await configure(queue, { maxLength: 5 });
  const waiting = [waitingPop(queue, place), waitingPop(queue, { ...place, group: "g" })];
  await parked(2);
  expect(await remove(queue)).toEqual({ queue, deleted: true, declared: true });
  await parked(2);
  await push(queue, ["next"], partition ?? "Default");
  expect((await Promise.all(waiting)).map(payloadsOf)).toEqual([["next"], ["next"]]);
  expect(await listed(queue)).toMatchObject({ tier: "implicit", depth: 1 });
});

it("lets pops parked on any partition see the next push, wherever it goes", async () => {
  const queue = freshQueue();
  const [before, after] = partitionsAway(queue, 2) as [string, string];
  await push(queue, ["old"], before);
  await popOne(queue, { group: "g", autoAck: true });
  const waiting = waitingPop(queue, { group: "g" });
  await parked(1);
  await remove(queue);
  await push(queue, ["next"], after);
  expect(payloadsOf(await waiting)).toEqual(["next"]);
});

it("keeps pops of one queue apart that are parked in many places while it is deleted", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 3)];
  for (const partition of partitions) await pop(queue, { partition });
  const waiting = partitions.map((partition) => waitingPop(queue, { partition, autoAck: true }));
  const any = waitingPop(queue, { group: "any", batch: 10 });
  await parked(partitions.length + 1);
  await remove(queue);
  for (const partition of partitions) await push(queue, [partition], partition);
  expect((await Promise.all(waiting)).map(payloadsOf)).toEqual(partitions.map((partition) => [partition]));
  const got = payloadsOf(await any);
  const rest = await popPayloads(queue, { group: "any", batch: 10 });
  expect([...got, ...rest].sort()).toEqual([...partitions].sort());
});

it("ends a parked pop of a deleted queue at its own time", async () => {
  const queue = freshQueue();
  const waiting = pop(queue, { wait: true, timeout: 300, partition: partitionAway(queue) });
  await parked(1);
  await remove(queue);
  expect(await waiting).toEqual([]);
});

it("lets a parked pop go on when the objects are lost under it", async () => {
  const queue = freshQueue();
  const waiting = [waitingPop(queue), waitingPop(queue, { partition: partitionAway(queue), group: "g" })];
  await parked(2);
  await abortAllDurableObjects();
  await parked(2);
  await push(queue, ["x"], partitionAway(queue));
  expect((await Promise.all(waiting)).map(payloadsOf)).toEqual([["x"], ["x"]]);
});
