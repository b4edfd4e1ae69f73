import { expect, it } from "vitest";
import {
  ack,
  ackOne,
  call,
  configure,
  depth,
  depthPath,
  freshQueue,
  partitionAway,
  partitionsAway,
  passTime,
  pop,
  popOne,
  push,
  refused,
} from "./support.ts";

it("is 404 for a queue that does not exist, and creates none", async () => {
  const queue = freshQueue();
  await refused(call(depthPath(queue)), 404, "ephemeral_queue_not_found");
  await refused(call(depthPath(queue, "g")), 404, "ephemeral_queue_not_found");
  await refused(call(depthPath(queue)), 404, "ephemeral_queue_not_found");
});

it("counts everything held when there is no group", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2]);
  await push(queue, [3], partitionAway(queue));
  expect(await depth(queue)).toMatchObject({ group: null, pending: 3, partitionsPending: 2, bytes: 3, groups: [] });
});

it("sorts partitions and groups by name, over all owners", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 12), "a", "Z", "é", "10", "9"];
  for (const partition of partitions) await push(queue, [partition], partition);
  for (const group of ["b", "a", "C", "ä", "2", "10"]) await pop(queue, { group });
  const found = await depth(queue, "a");
  expect(found.partitions.map(({ partition }) => partition)).toEqual([...partitions].sort());
  expect(found.groups.map(({ group }) => group)).toEqual(["10", "2", "C", "a", "b", "ä"]);
  for (const { group, pending } of found.groups) expect([group, pending]).toEqual([group, partitions.length - 1]);
  expect(found.pending).toBe(partitions.length - 1);
  expect(found.partitionsPending).toBe(partitions.length - 1);
  expect(found.bytes).toBe(found.partitions.reduce((sum, { bytes }) => sum + bytes, 0));
});

it("of a group is what was not yet handed to it plus what waits for another delivery", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await push(queue, [1, 2, 3, 4, 5], partition);
  const popped = await pop(queue, { group: "g", batch: 3 });
  expect((await depth(queue, "g")).pending).toBe(2);
  await ackOne(queue, { id: popped[1]?.id ?? "", status: "retry" }, "g");
  expect(await depth(queue, "g")).toMatchObject({ group: "g", pending: 3, partitionsPending: 1 });
  expect((await depth(queue, "g")).partitions).toEqual([{ partition, pending: 3, bytes: 5 }]);
  expect((await depth(queue, "g")).groups).toEqual([{ group: "g", pending: 3, skipped: 0 }]);
  passTime(31_000);
  expect((await depth(queue, "g")).pending).toBe(5);
  // The one that was returned is nobody's to settle.
  expect(await ack(queue, popped, "g")).toEqual(["acked", "unknown", "acked"]);
  expect((await depth(queue, "g")).pending).toBe(3);
});

it("of a group that is not known is everything held", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2, 3]);
  await pop(queue, { group: "g", batch: 2 });
  const found = await depth(queue, "stranger");
  expect(found).toMatchObject({ group: "stranger", pending: 3 });
  expect(found.groups.map(({ group }) => group)).toEqual(["g"]);
  expect((await depth(queue)).groups).toHaveLength(1);
});

it("reads an empty group as none", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  expect((await depth(queue, "")).group).toBeNull();
});

it("without a group is that of the worst named group", async () => {
  const queue = freshQueue();
  const [one, two] = ["Default", partitionAway(queue)];
  await push(queue, [1, 2, 3], one);
  await push(queue, [1, 2], two);
  // Queue mode has everything ahead of it, and does not count as long as there is a named group.
  await pop(queue, { partition: "other" });
  await pop(queue, { group: "fast", batch: 4 });
  await pop(queue, { group: "slow", batch: 2, partition: one });
  const found = await depth(queue);
  expect(found).toMatchObject({ group: null, pending: 3, partitionsPending: 2 });
  expect(found.groups).toEqual([
    { group: "__QUEUE_MODE__", pending: 5, skipped: 0 },
    { group: "fast", pending: 1, skipped: 0 },
    { group: "slow", pending: 3, skipped: 0 },
  ]);
  const pending = Object.fromEntries(found.partitions.map((part) => [part.partition, part.pending]));
  expect(pending).toEqual({ [one]: 1, [two]: 2, other: 0 });
});

it("without a named group is that of queue mode", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2, 3]);
  const popped = await pop(queue, { batch: 2 });
  expect(await depth(queue)).toMatchObject({ group: null, pending: 1 });
  await ack(queue, popped);
  expect(await depth(queue)).toMatchObject({ pending: 1, bytes: 1 });
});

it("tells skipped messages of a group over all owners", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 2, policy: "dropOldest" });
  await pop(queue, { group: "g" });
  const partition = partitionAway(queue);
  for (const payload of [1, 2, 3]) await push(queue, [payload], partition);
  expect((await depth(queue)).groups).toEqual([{ group: "g", pending: 2, skipped: 1 }]);
  await popOne(queue, { group: "g" });
  await push(queue, [4], partition);
  // What was evicted under a lease had been handed over, and was not skipped.
  expect((await depth(queue)).groups).toEqual([{ group: "g", pending: 2, skipped: 1 }]);
});

it("does not move anything", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const first = await depth(queue, "g");
  expect(await depth(queue, "g")).toEqual(first);
  expect(await popOne(queue, { group: "g" })).toMatchObject({ attempts: 1 });
});
