import { reset as resetAll } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import {
  counted,
  crashedAll,
  numbers,
  restartedAll,
  sleptAll,
  timersFollowTheClock,
  windowPassed,
} from "./checkpoint-support.ts";
import {
  ack,
  ackOne,
  configure,
  depth,
  dropGroup,
  freshQueue,
  list,
  listed,
  owners,
  partitionAway,
  partitionsAway,
  passTime,
  pop,
  popOne,
  popPayloads,
  push,
  remove,
  reset,
  type Popped,
} from "./support.ts";

timersFollowTheClock();

beforeEach(async () => {
  await resetAll();
});

/** What a group of the large backlog did before the restart, of the messages of one partition. */
interface Done {
  leased: number;
  acked: number;
  autoAcked: number;
}

const NOTHING_DONE: Done = { leased: 0, acked: 0, autoAcked: 0 };
const GROUPS: Record<string, Done> = {
  untouched: NOTHING_DONE,
  leased: { leased: 20, acked: 0, autoAcked: 0 },
  half: { leased: 0, acked: 0, autoAcked: 125 },
  acked: { leased: 5, acked: 10, autoAcked: 0 },
  finished: { leased: 0, acked: 0, autoAcked: 250 },
};

it.each([
  { end: "a crash with leases out", leaseSeconds: 300, restart: restartedAll },
  { end: "a sleep", leaseSeconds: 3, restart: sleptAll },
])("50,000 messages come back after $end", { timeout: 120_000 }, async ({ leaseSeconds, restart }) => {
  const queues = numbers(10).map(freshQueue);
  const partitions = partitionsAway(queues[0] ?? "", 20);
  const perPartition = 250;
  for (const queue of queues) {
    await configure(queue, { leaseSeconds });
    for (const group of Object.keys(GROUPS)) await pop(queue, { group });
    for (const partition of partitions) await push(queue, numbers(perPartition), partition);
  }
  const everywhere = queues.flatMap((queue) => partitions.map((partition) => ({ queue, partition })));
  for (const { queue, partition } of everywhere) {
    for (const [group, { leased, acked, autoAcked }] of Object.entries(GROUPS)) {
      if (autoAcked > 0) await pop(queue, { partition, group, batch: autoAcked, autoAck: true });
      if (leased + acked === 0) continue;
      const messages = await pop(queue, { partition, group, batch: leased + acked });
      // Every other one is acked first, so that what is left lies scattered.
      const done = messages.filter((_, i) => i % 2 === 1).slice(0, acked);
      const more = messages.filter((message) => !done.includes(message)).slice(0, acked - done.length);
      if (acked > 0) await ack(queue, [...done, ...more], group);
    }
  }
  expect((await owners()).reduce((sum, { rings }) => sum + rings, 0)).toBeGreaterThanOrEqual(everywhere.length);
  await restart();

  for (const { queue, partition } of everywhere) {
    for (const [group, { leased, acked, autoAcked }] of Object.entries(GROUPS)) {
      const messages = await pop(queue, { partition, group, batch: 10_000 });
      const payloads = messages.map(({ payload }) => Number(payload));
      expect(payloads.length, `${queue} ${partition} ${group}`).toBe(perPartition - acked - autoAcked);
      expect(new Set(payloads).size).toBe(payloads.length);
      expect(payloads).toEqual(payloads.toSorted((a, b) => a - b));
      expect(payloads.at(-1) ?? perPartition - 1).toBe(perPartition - 1);
      const again = messages.filter(({ attempts }) => attempts === 2).map(({ payload }) => Number(payload));
      expect(again).toEqual(payloads.slice(0, leased));
      expect(messages.every(({ attempts }) => attempts <= 2)).toBe(true);
    }
  }
});

it("a crash takes only what is younger than the window", async () => {
  const queue = freshQueue();
  const partitions = partitionsAway(queue, 4);
  for (const group of ["g", "other"]) await pop(queue, { group });
  for (const partition of partitions) await push(queue, numbers(50), partition);
  const early: Popped[] = [];
  for (const partition of partitions) early.push(...(await pop(queue, { partition, group: "g", batch: 10 })));
  await ack(queue, early.slice(0, 20), "g");
  await windowPassed();
  const wipes = await counted("wipes_total");
  const holding = (await owners()).filter(({ queues }) => queues > 0).length;

  for (const partition of partitions) await push(queue, numbers(30, 50), partition);
  const late: Popped[] = [];
  for (const partition of partitions) late.push(...(await pop(queue, { partition, group: "g", batch: 5 })));
  await ack(queue, late, "g");
  await crashedAll();

  let missing = 0;
  const acked = new Set(early.slice(0, 20).map(({ partition, payload }) => `${partition} ${String(payload)}`));
  for (const partition of partitions) {
    const forOther = await popPayloads(queue, { partition, group: "other", batch: 10_000 });
    expect(forOther.slice(0, 50)).toEqual(numbers(50));
    missing += 80 - forOther.length;
    const forG = await pop(queue, { partition, group: "g", batch: 10_000 });
    const wanted = numbers(50).filter((n) => !acked.has(`${partition} ${n}`));
    // The acks of the window are undone at the most: nothing else comes again, and nothing that is owed is missing.
    expect(forG.map(({ payload }) => payload).slice(0, wanted.length)).toEqual(wanted);
    expect(forG.filter(({ attempts }) => attempts > 1).length).toBeLessThanOrEqual(10);
  }
  expect(missing).toBe(30 * partitions.length);
  expect(await counted("wipes_total")).toBe(wipes + holding);
});

it("ids of the life before are stale", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await push(queue, [1], partition);
  const { id } = await popOne(queue, { partition });
  await restartedAll();
  expect(await ackOne(queue, { id })).toBe("stale");
  expect(await popOne(queue, { partition })).toMatchObject({ payload: 1, attempts: 2 });
});

it("messages age while their owner is not in memory", { timeout: 30_000 }, async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await configure(queue, { ttlSeconds: 60 });
  await push(queue, [1], partition);
  await sleptAll();
  passTime(40_000);
  expect((await listed(queue))?.depth).toBe(1);
  await sleptAll();
  passTime(10_000);
  expect(await pop(queue)).toEqual([]);
  expect(await listed(queue)).toMatchObject({ depth: 0, drops: { ttl: 1 } });
});

it("an age that was taken back drops nothing after a restart", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await configure(queue, { ttlSeconds: 60 });
  await push(queue, [1], partition);
  await windowPassed();
  await configure(queue, {});
  await restartedAll();
  passTime(61_000);
  expect(await popPayloads(queue)).toEqual([1]);
});

it("idleness counts the time that an owner was not in memory", { timeout: 30_000 }, async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  expect(await popPayloads(queue, { group: "g", autoAck: true })).toEqual([1]);
  await sleptAll();
  passTime(200_000);
  expect((await list()).queues).toMatchObject([{ queue, groups: 1 }]);
  await sleptAll();
  passTime(100_000);
  expect((await list()).queues).toEqual([]);
});

it("counters go on where they were", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await configure(queue, { maxLength: 3, policy: "dropOldest" });
  await pop(queue, { partition });
  await push(queue, [1, 2, 3], partition);
  await push(queue, [4], partition);
  const [first, second] = await pop(queue, { partition, batch: 2 });
  await ack(queue, [{ id: first?.id ?? "" }, { id: second?.id ?? "", status: "retry" }]);
  const names = ["pushed_total", "popped_total", "acked_total", "redelivered_total", 'dropped_total{cause="bounds"}'];
  const before = await Promise.all(names.map(counted));
  expect(before).toEqual([4, 2, 1, 1, 1]);
  await restartedAll();
  expect(await Promise.all(names.map(counted))).toEqual(before);
  expect(await listed(queue)).toMatchObject({ depth: 2, drops: { bounds: 1 } });
  expect((await depth(queue)).groups).toMatchObject([{ skipped: 1 }]);
});

it("groups of a queue's empty partitions stay where they are", async () => {
  const queue = freshQueue();
  const partitions = ["Default", partitionAway(queue)];
  await configure(queue);
  for (const partition of partitions) {
    await push(queue, [1], partition);
    for (const group of ["a", "b"]) await popPayloads(queue, { partition, group, autoAck: true });
  }
  await restartedAll();
  expect(await depth(queue)).toMatchObject({
    pending: 0,
    partitions: partitions.map((partition) => ({ partition, pending: 0 })),
    groups: [{ group: "a" }, { group: "b" }],
  });
  for (const partition of partitions) {
    await push(queue, [2], partition);
    for (const group of ["a", "b"]) expect(await popPayloads(queue, { partition, group, batch: 9 })).toEqual([2]);
  }
});

it("what was reset, deleted or dropped stays gone, even after a crash at once", async () => {
  const [cleared, deleted, group] = [freshQueue(), freshQueue(), freshQueue()];
  for (const queue of [cleared, deleted, group]) {
    for (const partition of ["Default", partitionAway(queue)]) await push(queue, [1], partition);
    await pop(queue, { group: "g" });
  }
  await windowPassed();
  expect(await reset(cleared)).toMatchObject({ dropped: 2 });
  expect(await remove(deleted)).toMatchObject({ deleted: true });
  expect(await dropGroup(group, "g")).toMatchObject({ deleted: true });
  await crashedAll();
  expect((await list()).queues.map(({ queue, depth: held, groups }) => ({ queue, held, groups }))).toEqual([
    { queue: cleared, held: 0, groups: 1 },
    { queue: group, held: 2, groups: 0 },
  ]);
});

it("an inbox that is read at once writes nothing", async () => {
  for (let n = 0; n < 100; n++) {
    const inbox = freshQueue();
    await push(inbox, [n]);
    const { id } = await popOne(inbox, { autoAck: n % 2 === 0 });
    if (n % 2 === 1) await ackOne(inbox, { id });
  }
  await windowPassed();
  expect(await counted("checkpoint_rows_total")).toBe(0);
});

it("a busy second writes few rows, and each message once", async () => {
  const queue = freshQueue();
  for (let n = 0; n < 50; n++) await push(queue, numbers(20));
  await windowPassed();
  const rows = await counted("checkpoint_rows_total");
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThanOrEqual(6);
  await windowPassed();
  expect(await counted("checkpoint_rows_total")).toBe(rows);
});

it("payloads larger than a row come back as they were", { timeout: 20_000 }, async () => {
  const queue = freshQueue();
  const large = ["x", "ÿ", "€", "😀"].map((text) => `a${text.repeat(700_000)}`);
  for (const text of large) await push(queue, [text], partitionAway(queue));
  await restartedAll();
  expect(await popPayloads(queue, { batch: 9 })).toEqual(large);
});

it("names as long as they may be fit into rows", { timeout: 30_000 }, async () => {
  const queue = "q".repeat(512);
  const partitions = numbers(800).map((n) => `${n}`.padStart(512, "p"));
  await Promise.all(partitions.map((partition) => push(queue, [1], partition)));
  await restartedAll();
  const { queues } = await list();
  expect(queues).toMatchObject([{ depth: partitions.length, partitions: partitions.length }]);
});
