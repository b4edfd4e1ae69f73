import { expect, it } from "vitest";
import {
  ackOne,
  configure,
  depth,
  freshQueue,
  listed,
  parked,
  partitionAway,
  passTime,
  pop,
  popOne,
  popPayloads,
  push,
  waitingPop,
} from "./support.ts";

it.each(["Default", "away"])("drops a message that is older than it may be, and counts it (%s)", async (where) => {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  await configure(queue, { ttlSeconds: 10 });
  await push(queue, [1], partition);
  passTime(6000);
  await push(queue, [2], partition);
  expect((await listed(queue))?.depth).toBe(2);
  passTime(5000);
  expect(await popPayloads(queue, { batch: 9 })).toEqual([2]);
  expect(await listed(queue)).toMatchObject({ depth: 1, drops: { bounds: 0, ttl: 1, retry: 0 } });
});

it("drops a message that is leased: its late ack is unknown", async () => {
  const queue = freshQueue();
  await configure(queue, { ttlSeconds: 10 });
  await push(queue, [1]);
  const { id } = await popOne(queue);
  passTime(11_000);
  expect(await ackOne(queue, { id })).toBe("unknown");
  expect(await listed(queue)).toMatchObject({ depth: 0, bytes: 0, drops: { ttl: 1 } });
});

it("drops a message that one group has consumed and another has not", async () => {
  const queue = freshQueue();
  await configure(queue, { ttlSeconds: 10 });
  await push(queue, [1]);
  await pop(queue, { group: "slow", partition: "other" });
  const { id } = await popOne(queue, { group: "fast" });
  expect(await ackOne(queue, { id }, "fast")).toBe("acked");
  expect((await listed(queue))?.depth).toBe(1);
  passTime(11_000);
  expect(await pop(queue, { group: "slow" })).toEqual([]);
  expect(await listed(queue)).toMatchObject({ depth: 0, drops: { ttl: 1 } });
});

it.each([{ ttlSeconds: 0 }, {}, { ttlSeconds: null }])("keeps messages for ever with %j", async (options) => {
  const queue = freshQueue();
  await configure(queue, options);
  await push(queue, [1]);
  passTime(40 * 24 * 3600 * 1000);
  expect(await popPayloads(queue)).toEqual([1]);
});

it("applies to messages that are there when it is declared", async () => {
  const queue = freshQueue();
  await push(queue, [1], partitionAway(queue));
  passTime(20_000);
  await push(queue, [2], partitionAway(queue));
  await configure(queue, { ttlSeconds: 10 });
  expect(await popPayloads(queue, { batch: 9 })).toEqual([2]);
  expect((await depth(queue)).pending).toBe(0);
});

it("leaves parked pops waiting when messages go", async () => {
  const queue = freshQueue();
  await configure(queue, { ttlSeconds: 10 });
  await push(queue, [1]);
  await popOne(queue);
  const waiting = waitingPop(queue, { timeout: 120_000 });
  await parked(1);
  passTime(11_000);
  await push(queue, [2]);
  expect((await waiting).map(({ payload }) => payload)).toEqual([2]);
});
