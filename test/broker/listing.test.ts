import { expect, it } from "vitest";
import { ackOne, configure, freshQueue, list, listed, partitionsAway, pop, popOne, push, remove } from "./support.ts";

it("is empty when there are no queues", async () => {
  const { queues } = await list();
  for (const { queue } of queues) await remove(queue);
  expect(await list()).toEqual({ queues: [], count: 0, cellBytes: 0 });
});

it("is sorted by name, over all owners", async () => {
  const names = ["b", "B", "a", "aa", "Ä", "10", "9", "a b", "a/b", "漢"].map((name) => `sort ${name}`);
  for (const name of names) await push(name, [1]);
  const { queues, count } = await list();
  expect(queues.map(({ queue }) => queue).filter((name) => name.startsWith("sort "))).toEqual([...names].sort());
  expect(count).toBe(queues.length);
});

it("joins what all owners hold of a queue", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 9)];
  await configure(queue, { maxLength: 20, policy: "dropOldest", retryLimit: 1 });
  for (const partition of partitions) await push(queue, ["é", 1], partition);
  await pop(queue, { group: "a" });
  const { id } = await popOne(queue, { group: "b" });
  await ackOne(queue, { id, status: "retry" }, "b");
  expect(await listed(queue)).toMatchObject({
    tier: "declared",
    depth: 20,
    bytes: 50,
    partitions: 10,
    groups: 2,
    drops: { bounds: 0, ttl: 0, retry: 1 },
  });
});

it("counts messages held, leased ones included, and consumed ones not", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2, 3]);
  const [first] = await pop(queue, { batch: 2 });
  expect(await listed(queue)).toMatchObject({ depth: 3, bytes: 3 });
  await ackOne(queue, { id: first?.id ?? "" });
  expect(await listed(queue)).toMatchObject({ depth: 2, bytes: 2 });
});

it("counts a message once however many groups read it", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  for (const group of ["a", "b", "c"]) await pop(queue, { group });
  expect(await listed(queue)).toMatchObject({ depth: 1, bytes: 1, groups: 3 });
});

it("adds all bytes held up", async () => {
  const [one, two] = [freshQueue(), freshQueue()];
  const before = (await list()).cellBytes;
  await push(one, ["12345678"]);
  await push(two, ["1234"], "elsewhere");
  const { cellBytes, queues } = await list();
  expect(cellBytes).toBe(before + 16);
  expect(queues.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(cellBytes);
});
