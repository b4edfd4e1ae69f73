import { expect, it } from "vitest";
import {
  ack,
  ackOne,
  configure,
  depth,
  freshQueue,
  listed,
  OWNERS,
  partitionAway,
  partitionsTogether,
  passTime,
  payloadsOf,
  pop,
  popOne,
  popPayloads,
  push,
  refused,
  tryPush,
} from "./support.ts";

async function full(answer: Promise<Response>): Promise<string> {
  const response = await answer;
  expect(response.headers.get("retry-after")).toBe("1");
  return refused(Promise.resolve(response), 429, "queue_full");
}

it("refuses a batch that does not fit whole, whole", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 3 });
  await push(queue, [1, 2]);
  await full(tryPush(queue, [3, 4]));
  expect((await depth(queue)).pending).toBe(2);
  await push(queue, [3]);
  await full(tryPush(queue, [4]));
  expect(await popPayloads(queue, { batch: 9 })).toEqual([1, 2, 3]);
  expect((await listed(queue))?.drops).toEqual({ bounds: 0, ttl: 0, retry: 0 });
});

it("refuses by bytes of the payloads' text", async () => {
  const queue = freshQueue();
  await configure(queue, { maxBytes: 10 });
  await push(queue, ["é", "ab"]);
  await full(tryPush(queue, ["a"]));
  await push(queue, [12]);
  await full(tryPush(queue, [1]));
  expect(await listed(queue)).toMatchObject({ depth: 3, bytes: 10 });
});

it("counts what is leased, and not what is settled", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 2 });
  await push(queue, [1, 2]);
  const popped = await pop(queue, { batch: 2 });
  await full(tryPush(queue, [3]));
  await ack(queue, popped.slice(0, 1));
  await push(queue, [3]);
  await full(tryPush(queue, [4]));
});

it("bounds all partitions that an owner holds together", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await configure(queue, { maxLength: 2 });
  await push(queue, [1, 2]);
  if (OWNERS === 1) {
    await full(tryPush(queue, [3], partition));
  } else {
    // Another owner bounds its own share.
    await push(queue, [3, 4], partition);
    await full(tryPush(queue, [5], partition));
  }
  await full(tryPush(queue, [5]));
});

it("evicts the oldest of the target partition until a batch fits, and counts them", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 4, policy: "dropOldest" });
  await push(queue, [1, 2, 3]);
  await push(queue, [4, 5, 6]);
  expect(await listed(queue)).toMatchObject({ depth: 4, drops: { bounds: 2, ttl: 0, retry: 0 } });
  expect(await popPayloads(queue, { batch: 9 })).toEqual([3, 4, 5, 6]);
});

it("evicts by bytes", async () => {
  const queue = freshQueue();
  await configure(queue, { maxBytes: 10, policy: "dropOldest" });
  await push(queue, [111, 222, 333]);
  await push(queue, [44_444]);
  expect(await listed(queue)).toMatchObject({ depth: 2, bytes: 8, drops: { bounds: 2 } });
  expect(await popPayloads(queue, { batch: 9 })).toEqual([333, 44_444]);
});

it("evicts what is leased too: its late ack is unknown", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 2, policy: "dropOldest" });
  await push(queue, [1, 2]);
  const popped = await pop(queue, { batch: 2 });
  await push(queue, [3]);
  expect(await ack(queue, popped)).toEqual(["unknown", "acked"]);
  expect(await popPayloads(queue, { batch: 9 })).toEqual([3]);
});

it("evicts nothing of other partitions", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 2, policy: "dropOldest" });
  const partition = OWNERS === 1 ? "other" : "Default";
  await push(queue, ["kept"], "Default");
  await push(queue, [1], partition);
  await push(queue, [2], partition);
  if (OWNERS === 1) {
    expect(payloadsOf(await pop(queue, { batch: 9 })).sort()).toEqual([2, "kept"]);
    await full(tryPush(queue, [3, 4], partition));
  } else {
    expect(await popPayloads(queue, { batch: 9 })).toEqual([1, 2]);
  }
});

it("refuses a batch that can never fit before anything is evicted", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 3, maxBytes: 10, policy: "dropOldest" });
  await push(queue, [1, 2, 3]);
  await full(tryPush(queue, [4, 5, 6, 7]));
  await full(tryPush(queue, ["123456789"]));
  expect(await listed(queue)).toMatchObject({ depth: 3, drops: { bounds: 0 } });
  expect(await popPayloads(queue, { batch: 9 })).toEqual([1, 2, 3]);
});

it("refuses a batch for which the target partition does not hold enough, before anything is evicted", async () => {
  const queue = freshQueue();
  const placed = partitionsTogether(queue);
  await configure(queue, { maxLength: 4, policy: "dropOldest" });
  await push(queue, ["a", "b", "c"], placed[0]);
  await push(queue, ["d"], placed[1]);
  await full(tryPush(queue, ["e", "f"], placed[1]));
  expect((await listed(queue))?.drops.bounds).toBe(0);
  await push(queue, ["e"], placed[1]);
  expect(payloadsOf(await pop(queue, { batch: 9 })).sort()).toEqual(["a", "b", "c", "e"]);
});

it("counts what a group was never handed as skipped", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 2, policy: "dropOldest" });
  await pop(queue, { group: "slow" });
  await pop(queue, { group: "fast" });
  await push(queue, [1, 2]);
  await pop(queue, { group: "fast", batch: 1, autoAck: true });
  await push(queue, [3, 4]);
  expect((await depth(queue)).groups).toEqual([
    { group: "fast", pending: 2, skipped: 1 },
    { group: "slow", pending: 2, skipped: 2 },
  ]);
  expect(await popPayloads(queue, { group: "slow", batch: 9 })).toEqual([3, 4]);
});

it("evicts nothing when bounds become smaller, and refuses until there is room", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2, 3]);
  await configure(queue, { maxLength: 2 });
  expect(await listed(queue)).toMatchObject({ depth: 3, drops: { bounds: 0 } });
  await full(tryPush(queue, [4]));
  const popped = await pop(queue, { batch: 2 });
  await ack(queue, popped);
  await push(queue, [4]);
  expect(await popPayloads(queue, { batch: 9 })).toEqual([3, 4]);
});

it("bounds an implicit queue by the operator's defaults", async () => {
  const queue = freshQueue();
  await push(
    queue,
    Array.from({ length: 10_000 }, (_, i) => i),
  );
  await full(tryPush(queue, [1]));
  await popOne(queue, { autoAck: true });
  await push(queue, [1]);
});

it("has room again for what came back and was given up", async () => {
  const queue = freshQueue();
  await configure(queue, { maxLength: 1, retryLimit: 1 });
  await push(queue, [1]);
  const { id } = await popOne(queue);
  await full(tryPush(queue, [2]));
  await ackOne(queue, { id, status: "failed" });
  await push(queue, [2]);
  await popOne(queue);
  passTime(31_000);
  await push(queue, [3]);
  expect(await popPayloads(queue, { batch: 9 })).toEqual([3]);
});
