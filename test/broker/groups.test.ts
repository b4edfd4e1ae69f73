import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import type { Owner } from "../../src/objects/owner.ts";
import {
  ack,
  ackOne,
  call,
  configure,
  depth,
  dropGroup,
  freshQueue,
  homeOf,
  listed,
  parked,
  partitionAway,
  partitionsAway,
  payloadsOf,
  pop,
  popOne,
  popPath,
  popPayloads,
  push,
  refused,
  waitingPop,
} from "./support.ts";

async function groupNames(queue: string): Promise<string[]> {
  return (await depth(queue)).groups.map(({ group }) => group);
}

it("starts a new group at the oldest message still held, in each partition", async () => {
  const queue = freshQueue();
  const partitions = ["Default", partitionAway(queue)];
  for (const partition of partitions) await push(queue, [1, 2, 3], partition);
  const taken = await pop(queue, { group: "first", partition: partitions[1] ?? "", batch: 1 });
  await ack(queue, taken, "first");
  const popped = await pop(queue, { group: "late", batch: 9 });
  for (const partition of partitions) {
    // The first group freed nothing of Default, and one message of the other partition, which was its alone.
    const expected = partition === "Default" ? [1, 2, 3] : [2, 3];
    expect(payloadsOf(popped.filter((message) => message.partition === partition))).toEqual(expected);
  }
});

it("hands every message to every group, queue mode included", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  const groups = [{}, { group: "a" }, { group: "b" }];
  for (const group of groups) await pop(queue, group);
  await push(queue, [1, 2, 3], partition);
  for (const group of groups) expect(await popPayloads(queue, { ...group, batch: 9 })).toEqual([1, 2, 3]);
  for (const group of groups) expect(await pop(queue, { ...group, batch: 9 })).toEqual([]);
});

it("frees a message when every group has settled it, and not before", async () => {
  const queue = freshQueue();
  await pop(queue, { group: "a" });
  await pop(queue, { group: "b" });
  await push(queue, ["x"], partitionAway(queue));
  const { id } = await popOne(queue, { group: "a" });
  await ackOne(queue, { id }, "a");
  expect((await listed(queue))?.depth).toBe(1);
  expect((await popOne(queue, { group: "b" })).id).toBe(id);
  expect((await listed(queue))?.depth).toBe(1);
  await ackOne(queue, { id }, "b");
  expect(await listed(queue)).toMatchObject({ depth: 0, bytes: 0 });
  expect(await pop(queue, { group: "c" })).toEqual([]);
});

it("keeps everything as long as there is no group", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2], partitionAway(queue));
  expect(await listed(queue)).toMatchObject({ depth: 2, groups: 0 });
  expect(await popPayloads(queue, { group: "first", batch: 9 })).toEqual([1, 2]);
});

it("remembers a group from its first pop, even an empty one", async () => {
  const queue = freshQueue();
  await pop(queue, { group: "a" });
  expect(await groupNames(queue)).toEqual(["a"]);
  await push(queue, [1]);
  const { id } = await popOne(queue, { group: "b" });
  await ackOne(queue, { id }, "b");
  expect(await popPayloads(queue, { group: "a" })).toEqual([1]);
});

it("starts a partition that is created later with a cursor for each group", async () => {
  const queue = freshQueue();
  await pop(queue, { group: "a" });
  const partitions = partitionsAway(queue, 3);
  for (const partition of partitions) {
    await push(queue, [partition], partition);
    const { id } = await popOne(queue, { group: `only-${partition}`, partition, autoAck: false });
    await ackOne(queue, { id }, `only-${partition}`);
  }
  const got = payloadsOf(await pop(queue, { group: "a", batch: 9 }));
  expect(got.sort()).toEqual([...partitions].sort());
});

it("knows a group everywhere that was first seen on one owner", async () => {
  const queue = freshQueue();
  const [one, two] = partitionsAway(queue, 2) as [string, string];
  await push(queue, ["one"], one);
  await push(queue, ["two"], two);
  expect(await popPayloads(queue, { group: "a", partition: one })).toEqual(["one"]);
  const { id } = await popOne(queue, { group: "b", partition: two });
  await ackOne(queue, { id }, "b");
  // Freed by the only group that this owner has seen a pop of, it would be gone for the other.
  expect(await popPayloads(queue, { group: "a", partition: two })).toEqual(["two"]);
  expect(await groupNames(queue)).toEqual(["a", "b"]);
});

it("keeps the leases of groups apart", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const { id } = await popOne(queue, { group: "a" });
  expect((await popOne(queue, { group: "b" })).id).toBe(id);
  expect(await ackOne(queue, { id, status: "retry" }, "a")).toBe("redelivered");
  expect(await pop(queue, { group: "b" })).toEqual([]);
  expect(await popOne(queue, { group: "a" })).toMatchObject({ id, attempts: 2 });
});

it("drops a group at once: it starts anew at the oldest message held", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await push(queue, [1, 2], partition);
  await pop(queue, { group: "stays" });
  const popped = await pop(queue, { group: "goes", batch: 1 });
  expect(await dropGroup(queue, "goes")).toEqual({ queue, group: "goes", deleted: true });
  expect(await dropGroup(queue, "goes")).toEqual({ queue, group: "goes", deleted: false });
  expect(await groupNames(queue)).toEqual(["stays"]);
  expect(await ack(queue, popped, "goes")).toEqual(["unknown"]);
  const again = await pop(queue, { group: "goes", batch: 9 });
  expect(again.map(({ payload, attempts }) => [payload, attempts])).toEqual([
    [1, 1],
    [2, 1],
  ]);
});

it("frees what only a dropped group still needed", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await pop(queue, { group: "slow" });
  await push(queue, [1, 2, 3], partition);
  const popped = await pop(queue, { group: "fast", batch: 2 });
  await ack(queue, popped, "fast");
  expect((await listed(queue))?.depth).toBe(3);
  await dropGroup(queue, "slow");
  expect(await listed(queue)).toMatchObject({ depth: 1, groups: 1 });
});

it("drops no group of a queue that does not exist, and creates none", async () => {
  const queue = freshQueue();
  expect(await dropGroup(queue, "g")).toEqual({ queue, group: "g", deleted: false });
  expect(await listed(queue)).toBeUndefined();
});

it("takes names of queue and group from the path as they were encoded", async () => {
  const [queue, group] = [`${freshQueue()} a/b`, "g/h:i ?#%é"];
  await pop(queue, { group });
  expect(await dropGroup(queue, group)).toEqual({ queue, group, deleted: true });
});

it.each([
  ["parked on any partition, when the push goes to the home", null, "Default"],
  ["parked on any partition, when the push goes to another owner", null, "away"],
  ["parked on one partition of the home", "Default", "Default"],
  ["parked on one partition of another owner", "away", "away"],
])("lets pops of a dropped group go on that are %s", async (_, partition, target) => {
  const queue = freshQueue();
  const place = (name: string) => (name === "away" ? partitionAway(queue) : name);
  await pop(queue, { partition: place(target) });
  const waiting = waitingPop(queue, {
    group: "g",
    timeout: 2000,
    ...(partition === null ? {} : { partition: place(partition) }),
  });
  await parked(1);
  expect((await dropGroup(queue, "g")).deleted).toBe(true);
  await parked(1);
  await push(queue, ["x"], place(target));
  expect(payloadsOf(await waiting)).toEqual(["x"]);
});

it("remembers 4,096 groups of a queue, and refuses a pop by another", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await configure(queue, { groupIdleSeconds: 0 });
  await runInDurableObject(homeOf(queue), async (owner: Owner) => {
    for (let i = 0; i < 4096; i++) {
      const group = `g${i}`;
      await owner.pop({ queue, partition: "Default", group, batch: 1, autoAck: false, waitMs: 0, waiterId: "" });
    }
  });
  await push(queue, ["x"], partition);
  for (const place of [{}, { partition: "Default" }, { partition }, { partition: "new" }]) {
    for (const wait of [false, true]) {
      await refused(call(popPath(queue, { group: "one more", wait, timeout: 100, ...place })), 429, "too_many_groups");
    }
  }
  await refused(call(popPath(queue)), 429, "too_many_groups");
  expect((await listed(queue))?.groups).toBe(4096);
  // None of the known ones was forgotten for it.
  expect(await popPayloads(queue, { group: "g0" })).toEqual(["x"]);
  expect(await popPayloads(queue, { group: "g4095" })).toEqual(["x"]);
  await dropGroup(queue, "g1");
  expect(await popPayloads(queue, { group: "one more" })).toEqual(["x"]);
});
