import { expect, it } from "vitest";
import { timersFollowTheClock } from "./checkpoint-support.ts";
import {
  configure,
  freshQueue,
  parked,
  partitionAway,
  partitionsAway,
  passTime,
  payloadsOf,
  pop,
  popPayloads,
  push,
  waitingPop,
} from "./support.ts";

timersFollowTheClock();

/** Longer than any test: a window that ends by itself must not be what ends a wait here. */
const NEVER = 60_000;

it.each(["Default", "away"])("answers once count messages are there (%s)", async (where) => {
  const queue = freshQueue();
  const partition = where === "away" ? partitionAway(queue) : where;
  await configure(queue, { windowBuffer: { ms: NEVER, count: 3 } });
  for (const place of [{}, { partition }]) {
    const waiting = waitingPop(queue, { batch: 10, autoAck: true, ...place });
    await parked(1);
    await push(queue, [1], partition);
    await push(queue, [2], partition);
    await parked(1);
    await push(queue, [3], partition);
    expect(payloadsOf(await waiting)).toEqual([1, 2, 3]);
  }
});

it("answers once a whole batch is there, whatever the window says", async () => {
  const queue = freshQueue();
  await configure(queue, { windowBuffer: { ms: NEVER, count: 100 } });
  const waiting = waitingPop(queue, { batch: 2 });
  await parked(1);
  await push(queue, [1]);
  await parked(1);
  await push(queue, [2, 3]);
  expect(payloadsOf(await waiting)).toEqual([1, 2]);
  expect(payloadsOf(await waitingPop(queue, { batch: 1 }))).toEqual([3]);
});

it.each([{ ms: 1500 }, { ms: 1500, count: 0 }, { ms: 1500, count: 50 }])(
  "answers ms after the first message, with what has come by then (%j)",
  async (windowBuffer) => {
    const queue = freshQueue();
    await configure(queue, { windowBuffer });
    const waiting = waitingPop(queue, { batch: 10 });
    await parked(1);
    const began = Date.now();
    await push(queue, [1], partitionAway(queue));
    await push(queue, [2], partitionAway(queue));
    // Most of the window at once. The rest of it is real: one that ends too early shows.
    passTime(1200);
    expect(payloadsOf(await waiting)).toEqual([1, 2]);
    expect(Date.now() - began).toBeGreaterThanOrEqual(1490);
  },
);

it("waits for count alone when there are no ms", async () => {
  const queue = freshQueue();
  await configure(queue, { windowBuffer: { count: 2 } });
  const waiting = waitingPop(queue, { batch: 10 });
  await parked(1);
  await push(queue, [1]);
  await scheduler.wait(100);
  await parked(1);
  await push(queue, [2]);
  expect(payloadsOf(await waiting)).toEqual([1, 2]);
});

it.each([
  ["any partition", {}],
  ["one partition", { partition: "p" }],
])("answers no later than the timeout of the pop, with what there is (%s)", async (_, place) => {
  const queue = freshQueue();
  await configure(queue, { windowBuffer: { ms: NEVER, count: 5 } });
  const waiting = pop(queue, { wait: true, timeout: 2000, batch: 10, ...place });
  await parked(1);
  await push(queue, [1, 2], "p");
  passTime(1900);
  expect(payloadsOf(await waiting)).toEqual([1, 2]);
});

it("applies to messages that were there before the pop", async () => {
  const queue = freshQueue();
  await configure(queue, { windowBuffer: { ms: NEVER, count: 3 } });
  await push(queue, [1, 2]);
  const waiting = waitingPop(queue, { batch: 10 });
  await parked(1);
  await push(queue, [3]);
  expect(payloadsOf(await waiting)).toEqual([1, 2, 3]);
});

it("does not apply to a pop that does not wait", async () => {
  const queue = freshQueue();
  await configure(queue, { windowBuffer: { ms: NEVER, count: 100 } });
  await push(queue, [1, 2], partitionAway(queue));
  expect(await popPayloads(queue, { batch: 10, timeout: 5000 })).toEqual([1, 2]);
});

it("counts messages of all partitions for a pop of any", async () => {
  const queue = freshQueue();
  await configure(queue, { windowBuffer: { ms: NEVER, count: 4 } });
  const partitions = ["Default", ...partitionsAway(queue, 3)];
  const waiting = waitingPop(queue, { batch: 10 });
  await parked(1);
  for (const partition of partitions.slice(1)) await push(queue, [partition], partition);
  await parked(1);
  await push(queue, ["Default"], "Default");
  expect(payloadsOf(await waiting).sort()).toEqual([...partitions].sort());
});

it("reaches parked pops when it is changed or taken away", async () => {
  const queue = freshQueue();
  await configure(queue, { windowBuffer: { ms: NEVER, count: 5 } });
  const waiting = [waitingPop(queue, { batch: 10, group: "a" })];
  waiting.push(waitingPop(queue, { batch: 10, group: "b", partition: partitionAway(queue) }));
  await parked(2);
  await push(queue, [1, 2], partitionAway(queue));
  await parked(2);
  await configure(queue, {});
  expect((await Promise.all(waiting)).map(payloadsOf)).toEqual([
    [1, 2],
    [1, 2],
  ]);
});
