import { abortAllDurableObjects, evictDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import {
  ackOne,
  call,
  configure,
  depth,
  depthPath,
  dropGroup,
  env,
  freshQueue,
  list,
  listed,
  partitionAway,
  partitionsAway,
  passTime,
  payloadsOf,
  pop,
  popOne,
  popPayloads,
  push,
  read,
  refused,
  remove,
  reset,
  tryPush,
} from "./support.ts";

it("declares a queue before its first message: it is listed, and its depth is 0", async () => {
  const queue = freshQueue();
  await refused(call(depthPath(queue)), 404, "ephemeral_queue_not_found");
  await configure(queue, { maxLength: 5 });
  expect(await listed(queue)).toMatchObject({ tier: "declared", depth: 0, bytes: 0, partitions: 0, groups: 0 });
  expect(await depth(queue)).toEqual({
    queue,
    group: null,
    tier: "declared",
    pending: 0,
    partitionsPending: 0,
    bytes: 0,
    partitions: [],
    groups: [],
  });
});

it("keeps contents, leases and groups of a live implicit queue and marks it declared", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await push(queue, [1, 2], partition);
  const { id } = await popOne(queue, { group: "g" });
  await pop(queue, { group: "h", partition, batch: 1, autoAck: true });
  await configure(queue, { maxLength: 50 });
  expect(await listed(queue)).toMatchObject({ tier: "declared", depth: 2, partitions: 1, groups: 2 });
  expect((await depth(queue)).tier).toBe("declared");
  expect(await ackOne(queue, { id }, "g")).toBe("acked");
  expect(await popPayloads(queue, { group: "g", batch: 9 })).toEqual([2]);
  expect(await popPayloads(queue, { group: "h", batch: 9 })).toEqual([2]);
});

it("reaches every owner of a live queue at once", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 8)];
  await Promise.all(partitions.map((partition) => push(queue, [1], partition)));
  await configure(queue, { maxLength: 9, leaseSeconds: 60 });
  // Bounds are per owner: ten more fit nowhere.
  const ten = Array.from({ length: 10 }, () => 0);
  await Promise.all(partitions.map((partition) => refused(tryPush(queue, ten, partition), 429, "queue_full")));
  expect(await pop(queue, { batch: 99 })).toHaveLength(partitions.length);
  passTime(40_000);
  expect(await pop(queue, { batch: 99 })).toEqual([]);
  passTime(20_000);
  const again = await pop(queue, { batch: 99 });
  expect(again.map(({ attempts }) => attempts)).toEqual(partitions.map(() => 2));
});

it("reaches an owner that gets its first partition of the queue later", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 2 });
  const partition = partitionAway(queue);
  await refused(tryPush(queue, [1, 2, 3], partition), 429, "queue_full");
  expect(await read(tryPush(queue, [1, 2], partition), 201)).toEqual({ pushed: 2 });
});

it("brings declared queues back after every object was lost, listed and empty, untouched or not", async () => {
  const [untouched, used, removed, changed] = [freshQueue(), freshQueue(), freshQueue(), freshQueue()];
  const options = { maxLength: 3, policy: "dropOldest", windowBuffer: { ms: 1, count: 2 } } as const;
  await configure(untouched, options);
  await configure(used, options);
  await push(used, [1, 2], partitionAway(used));
  await pop(used, { group: "g" });
  await configure(removed, options);
  await remove(removed);
  await configure(changed, options);
  await configure(changed, { maxLength: 4 });
  for (const evict of [false, true]) {
    // An owner that holds anything keeps a timer and cannot be evicted; the object that stores declarations can.
    if (evict) await evictDurableObject(env.DECLARATIONS.getByName("declarations"));
    await abortAllDurableObjects();
    const effective = { maxLength: 3, policy: "dropOldest", windowBuffer: { ms: 1, count: 2 } };
    expect((await depth(untouched)).pending).toBe(0);
    expect(await listed(untouched)).toMatchObject({ tier: "declared", depth: 0, options: effective });
    expect(await listed(used)).toMatchObject({ tier: "declared", options: effective });
    expect(await listed(changed)).toMatchObject({ tier: "declared", options: { maxLength: 4, policy: "reject" } });
    expect(await listed(removed)).toBeUndefined();
    await refused(call(depthPath(removed)), 404, "ephemeral_queue_not_found");
    // The options hold for the first push, wherever it goes.
    await refused(tryPush(changed, [1, 2, 3, 4, 5], partitionAway(changed)), 429, "queue_full");
  }
});

it("answers stale for an id from before a restart, and hands out new ids", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const { id } = await popOne(queue);
  await abortAllDurableObjects();
  expect(await ackOne(queue, { id })).toBe("stale");
  await push(queue, [2]);
  // Of the first message the restart may have left something or nothing; under its old id it is gone.
  const [next] = await pop(queue);
  if (next === undefined) throw new Error("there is at least the second message");
  expect(next.id.split(":")[1]).not.toBe(id.split(":")[1]);
  expect(await ackOne(queue, { id })).toBe("stale");
  expect(await ackOne(queue, { id: next.id })).toBe("acked");
});

it("goes on over all owners after one side of a queue was lost", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 3 });
  await push(queue, ["there"], partitionAway(queue));
  await abortAllDurableObjects();
  await push(queue, ["again"], partitionAway(queue));
  await push(queue, ["here"]);
  expect(payloadsOf(await pop(queue, { batch: 9 })).sort()).toEqual(expect.arrayContaining(["again", "here"]));
});

it("stays declared through reset and the drop of a group, and no longer through delete", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 3 });
  await push(queue, [1]);
  await pop(queue, { group: "g" });
  await reset(queue);
  await dropGroup(queue, "g");
  expect(await listed(queue)).toMatchObject({ tier: "declared", options: { maxLength: 3 } });
  expect(await remove(queue)).toEqual({ queue, deleted: true, declared: true });
  await push(queue, [1]);
  expect(await listed(queue)).toMatchObject({ tier: "implicit", options: { maxLength: 10_000 } });
});

it("lists each declared queue once", async () => {
  const names = [freshQueue(), freshQueue()];
  for (const queue of names) await configure(queue);
  await configure(names[0] ?? "");
  const { queues } = await list();
  for (const queue of names) expect(queues.filter((entry) => entry.queue === queue)).toHaveLength(1);
});
