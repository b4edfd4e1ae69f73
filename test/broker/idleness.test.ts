import { beforeEach, expect, it } from "vitest";
import {
  call,
  configure,
  depth,
  depthPath,
  freshQueue,
  list,
  listed,
  parked,
  partitionAway,
  partitionsAway,
  passTime,
  payloadsOf,
  pop,
  popOne,
  popPayloads,
  push,
  refused,
  remove,
  waitingPop,
} from "./support.ts";

const IMPLICIT_IDLE_MS = 300_000;
const DECLARED_IDLE_MS = 3_600_000;

async function groupNames(queue: string): Promise<string[]> {
  return (await depth(queue)).groups.map(({ group }) => group);
}

/** The clock moves for all queues: what an earlier test left behind would go idle in a later one. */
beforeEach(async () => {
  const { queues } = await list();
  await Promise.all(queues.map(({ queue }) => remove(queue)));
});

/**
 * Lets every owner do what has become due. An owner that holds a part away from home asks the home before it lets a
 * group go, and looks again a second later; then the home follows.
 */
async function settle(): Promise<void> {
  for (let i = 0; i < 6; i++) {
    passTime(1100);
    await list();
    await scheduler.wait(1);
  }
}

async function dropped(): Promise<number> {
  const text = await (await call("/metrics")).text();
  return Number(/cause="group_idle"\} (\d+)/.exec(text)?.[1]);
}

it.each(["Default", "away"])(
  "forgets a group of an implicit queue that has not popped for 300 s (%s)",
  async (where) => {
    const queue = freshQueue();
    const partition = where === "away" ? partitionAway(queue) : where;
    await pop(queue, { group: "gone" });
    await push(queue, [1, 2], partition);
    const before = await dropped();
    passTime(IMPLICIT_IDLE_MS - 20_000);
    await popOne(queue, { group: "stays", autoAck: true });
    await settle();
    expect(await groupNames(queue)).toEqual(["gone", "stays"]);
    passTime(20_000);
    await settle();
    expect(await groupNames(queue)).toEqual(["stays"]);
    // What only the departed group was owed is free, and counted as what it is.
    expect((await listed(queue))?.depth).toBe(1);
    expect(await dropped()).toBe(before + 2);
  },
);

it("keeps a group of a declared queue for 3,600 s, or for as long as its options say", async () => {
  const [usual, short, never] = [freshQueue(), freshQueue(), freshQueue()];
  await configure(usual);
  await configure(short, { groupIdleSeconds: 60 });
  await configure(never, { groupIdleSeconds: 0 });
  for (const queue of [usual, short, never]) {
    await push(queue, [1]);
    await popOne(queue, { group: "g", autoAck: true });
  }
  passTime(70_000);
  await settle();
  expect([await groupNames(usual), await groupNames(short), await groupNames(never)]).toEqual([["g"], [], ["g"]]);
  passTime(DECLARED_IDLE_MS);
  await settle();
  expect([await groupNames(usual), await groupNames(never)]).toEqual([[], ["g"]]);
  passTime(400 * 24 * 3600 * 1000);
  await settle();
  expect(await groupNames(never)).toEqual(["g"]);
});

it("judges idleness by partition: a group that reads one room does not pin another", async () => {
  const queue = freshQueue();
  const [read, unread] = partitionsAway(queue, 2) as [string, string];
  await pop(queue, { group: "g", partition: read });
  await push(queue, ["r"], read);
  await push(queue, ["u"], unread);
  for (let i = 0; i < 4; i++) {
    passTime(100_000);
    await pop(queue, { group: "g", partition: read, autoAck: true });
    await settle();
  }
  const { groups, partitions } = await depth(queue, "g");
  expect(groups.map(({ group }) => group)).toEqual(["g"]);
  expect(partitions.find(({ partition }) => partition === read)?.pending).toBe(0);
  // The unread room has no cursor of the group any more, and so owes it nothing that would have to be kept.
  expect(groups[0]?.pending).toBe(0);
  // A cursor that was dropped comes back at the oldest message held.
  expect(await popPayloads(queue, { group: "g", partition: unread })).toEqual(["u"]);
});

it("takes a pop with no partition for a pop of each, wherever it lives", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 3)];
  await pop(queue, { group: "g" });
  for (const partition of partitions) await push(queue, [partition], partition);
  for (let i = 0; i < 4; i++) {
    passTime(100_000);
    await pop(queue, { group: "g", batch: 1, autoAck: true });
    await settle();
  }
  expect((await depth(queue, "g")).groups).toEqual([{ group: "g", pending: 0, skipped: 0 }]);
  await push(queue, ["more"], partitions[1]);
  passTime(250_000);
  expect(await popPayloads(queue, { group: "g", batch: 9 })).toEqual(["more"]);
});

it.each(["any", "named"])("does not forget a group with a parked pop (%s partition)", async (where) => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await configure(queue, { groupIdleSeconds: 60 });
  await pop(queue, { group: "g", partition });
  const waiting = waitingPop(queue, { group: "g", timeout: 300_000, ...(where === "named" ? { partition } : {}) });
  await parked(1);
  for (let i = 0; i < 3; i++) {
    passTime(61_000);
    await settle();
  }
  expect(await groupNames(queue)).toEqual(["g"]);
  await push(queue, ["x"], partition);
  expect(payloadsOf(await waiting)).toEqual(["x"]);
});

it("does not forget a group that holds a lease", async () => {
  const queue = freshQueue();
  await configure(queue, { leaseSeconds: 600, groupIdleSeconds: 60 });
  await push(queue, [1], partitionAway(queue));
  await popOne(queue, { group: "g" });
  passTime(500_000);
  await settle();
  expect(await groupNames(queue)).toEqual(["g"]);
});

it("collects an implicit queue that is empty and untouched for 300 s", async () => {
  const [empty, held, declared, touched] = [freshQueue(), freshQueue(), freshQueue(), freshQueue()];
  await push(empty, [1], partitionAway(empty));
  await popOne(empty, { autoAck: true });
  await push(held, [1], partitionAway(held));
  await configure(declared);
  await pop(touched);
  passTime(IMPLICIT_IDLE_MS - 10_000);
  await settle();
  await pop(touched);
  expect(await listed(empty)).toMatchObject({ depth: 0 });
  passTime(20_000);
  await settle();
  expect(await listed(touched)).toBeDefined();
  passTime(IMPLICIT_IDLE_MS);
  await settle();
  expect(await listed(empty)).toBeUndefined();
  await refused(call(depthPath(empty)), 404, "ephemeral_queue_not_found");
  expect(await listed(touched)).toBeUndefined();
  expect(await listed(held)).toMatchObject({ depth: 1 });
  expect(await listed(declared)).toMatchObject({ tier: "declared" });
  expect(await popPayloads(held)).toEqual([1]);
});

it("starts a collected queue anew", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  await push(queue, [1], partition);
  const { id } = await popOne(queue, { group: "g", autoAck: true });
  // What lives on another owner goes first, and its home after it.
  for (let i = 0; i < 2; i++) {
    passTime(IMPLICIT_IDLE_MS);
    await settle();
  }
  expect(await listed(queue)).toBeUndefined();
  await push(queue, [2], partition);
  const next = await popOne(queue, { group: "g" });
  expect(next).toMatchObject({ payload: 2, attempts: 1 });
  expect(next.id).not.toBe(id);
});
