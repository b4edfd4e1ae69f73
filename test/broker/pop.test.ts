import { expect, it } from "vitest";
import {
  call,
  depth,
  freshQueue,
  listed,
  OWNERS,
  partitionAway,
  partitionsAway,
  payloadsOf,
  pop,
  popOne,
  popPath,
  popPayloads,
  push,
  pushTexts,
  read,
  refused,
} from "./support.ts";

it("creates the queue, and the partition that it names", async () => {
  const [any, named] = [freshQueue(), freshQueue()];
  await pop(any);
  expect(await listed(any)).toMatchObject({ tier: "implicit", depth: 0, partitions: 0 });
  await pop(named, { partition: "room" });
  expect(await listed(named)).toMatchObject({ tier: "implicit", depth: 0, partitions: 1 });
  expect((await depth(named)).partitions).toEqual([{ partition: "room", pending: 0, bytes: 0 }]);
});

it("hands messages of a partition out first in, first out", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await push(queue, [1, 2, 3], partition);
  await push(queue, [4], partition);
  expect(await popPayloads(queue, { partition, batch: 2 })).toEqual([1, 2]);
  expect(await popPayloads(queue, { batch: 2 })).toEqual([3, 4]);
});

it("answers at most a batch, and what there is when that is less", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2, 3, 4, 5]);
  expect(await popPayloads(queue)).toEqual([1]);
  expect(await popPayloads(queue, { batch: 3 })).toEqual([2, 3, 4]);
  expect(await popPayloads(queue, { batch: 10_000 })).toEqual([5]);
  expect(await popPayloads(queue, { batch: 10_000 })).toEqual([]);
});

it("does not wait unless it is told to", async () => {
  const queue = freshQueue();
  // The time given would outlast the test.
  expect(await pop(queue, { timeout: 300_000 })).toEqual([]);
  expect(await pop(queue, { timeout: 300_000, wait: "no" })).toEqual([]);
});

it("waits no longer than it is told to, and then answers an empty array", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await push(queue, ["elsewhere"], "Default");
  const began = Date.now();
  expect(await pop(queue, { partition, wait: true, timeout: 80 })).toEqual([]);
  expect(Date.now() - began).toBeGreaterThanOrEqual(79);
});

it("does not wait when there is something already", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  expect(await popPayloads(queue, { wait: true, timeout: 300_000, batch: 10 })).toEqual([1]);
});

it("serves every partition of a queue when it names none", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 9)];
  await Promise.all(partitions.map((partition) => push(queue, [partition], partition)));
  const popped = await pop(queue, { batch: 100 });
  expect(popped).toHaveLength(partitions.length);
  for (const message of popped) expect(message.payload).toBe(message.partition);
  expect(new Set(payloadsOf(popped))).toEqual(new Set(partitions));
});

it("lets no partition starve another", async () => {
  const queue = freshQueue();
  const busy = "Default";
  const quiet = partitionsAway(queue, 6);
  await push(
    queue,
    Array.from({ length: 100 }, () => 0),
    busy,
  );
  await Promise.all(quiet.map((partition) => push(queue, [1, 2], partition)));
  const served: string[] = [];
  // A full round over the owners and over the partitions of each, twice: by then everybody has had two turns.
  for (let i = 0; i < 2 * (OWNERS + quiet.length + 1); i++) {
    const { partition } = await popOne(queue);
    served.push(partition);
    if (partition === busy) await push(queue, [0], busy);
  }
  for (const partition of quiet) expect(served.filter((name) => name === partition)).toHaveLength(2);
});

it("takes turns among the partitions of an owner", async () => {
  const queue = freshQueue();
  const partitions = ["a", "b", "c"];
  for (const partition of partitions) await push(queue, [1, 2, 3, 4, 5, 6], partition);
  const served = [];
  for (let i = 0; i < 18; i++) served.push((await popOne(queue)).partition);
  for (const partition of partitions) {
    expect(served.filter((name) => name === partition)).toHaveLength(6);
    // No run of one partition is as long as it would be if it were emptied first.
    expect(served.join("")).not.toContain(partition.repeat(6));
  }
});

it("puts at most 16 MiB of payload into an answer", async () => {
  const queue = freshQueue();
  const [here, there] = ["Default", partitionAway(queue)];
  const text = `"${"x".repeat(9 * 1024 * 1024)}"`;
  await read(pushTexts(queue, [text], here), 201);
  if (OWNERS === 1) {
    // One owner bounds a queue at as much as one answer may hold.
    await refused(pushTexts(queue, [text], there), 429, "queue_full");
    await read(pushTexts(queue, ["1"], there), 201);
    expect(await pop(queue, { batch: 10 })).toHaveLength(2);
    return;
  }
  await read(pushTexts(queue, [text], there), 201);
  const first = await pop(queue, { batch: 10 });
  const second = await pop(queue, { batch: 10 });
  expect([first.length, second.length]).toEqual([1, 1]);
  expect(new Set([...first, ...second].map(({ partition }) => partition))).toEqual(new Set([here, there]));
  expect(await pop(queue, { batch: 10 })).toEqual([]);
});

it("hands out a single payload as large as a body may be", async () => {
  const queue = freshQueue();
  const head = `{"queue":"${queue}","messages":[{"payload":"`;
  const size = 16 * 1024 * 1024 - head.length - '"}]}'.length;
  const body = `${head}${"x".repeat(size)}"}]}`;
  await read(call("/api/v1/ephemeral/push", { method: "POST", body }), 201);
  const text = await (await call(popPath(queue, { wait: true, timeout: 100 }))).text();
  expect(text.length).toBeGreaterThan(size);
  expect(text.endsWith('x"}]}')).toBe(true);
});
