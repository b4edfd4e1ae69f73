import { reset as resetAll, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { counted, crashedAll, sleptAll, timersFollowTheClock, windowPassed } from "./checkpoint-support.ts";
import {
  configure,
  freshQueue,
  homeOf,
  listed,
  parked,
  passTime,
  popOne,
  popPayloads,
  push,
  waitingPop,
} from "./support.ts";

timersFollowTheClock();

beforeEach(async () => {
  await resetAll();
});

/** When the alarm of a queue's home is set for; null = never. */
function alarmOf(queue: string): Promise<number | null> {
  return runInDurableObject(homeOf(queue), (_, { storage }) => storage.getAlarm());
}

/** Nobody goes to sleep before another `ms` have passed, however long everything has been quiet. */
async function staysFor(ms: number): Promise<void> {
  const slept = sleptAll();
  const state = await Promise.race([slept.then(() => "asleep"), scheduler.wait(500).then(() => "awake")]);
  expect(state).toBe("awake");
  passTime(ms);
  await slept;
}

it("an owner with a backlog goes to sleep, and wakes with it", { timeout: 30_000 }, async () => {
  const queue = freshQueue();
  await push(queue, [1, 2]);
  await sleptAll();
  const wipes = await counted("wipes_total");
  expect(wipes).toBe(0);
  expect(await popPayloads(queue, { batch: 9 })).toEqual([1, 2]);
});

it("an owner stays for a lease that is out", { timeout: 30_000 }, async () => {
  const queue = freshQueue();
  await configure(queue, { leaseSeconds: 60 });
  await push(queue, [1]);
  await popOne(queue);
  // Any shorter, and the timer of the lease would have gone with the object.
  await staysFor(55_000);
  expect(await popOne(queue)).toMatchObject({ payload: 1, attempts: 2 });
});

it("an owner stays for a parked pop", { timeout: 30_000 }, async () => {
  const queue = freshQueue();
  const waiting = waitingPop(queue, { timeout: 12_000 });
  await parked(1);
  await staysFor(7000);
  expect(await waiting).toEqual([]);
});

it("the alarm of an owner that sleeps is set for its earliest deadline", { timeout: 60_000 }, async () => {
  const queue = freshQueue();
  await configure(queue, { ttlSeconds: 60 });
  const pushedAt = Date.now();
  await push(queue, [1]);
  await sleptAll();
  const alarm = (await alarmOf(queue)) ?? 0;
  expect(alarm - pushedAt).toBeGreaterThanOrEqual(60_000);
  expect(alarm - pushedAt).toBeLessThan(61_000);

  passTime(60_000);
  expect(await runDurableObjectAlarm(homeOf(queue))).toBe(true);
  expect(await counted('dropped_total{cause="ttl"}')).toBe(1);
  expect(await listed(queue)).toMatchObject({ depth: 0, drops: { ttl: 1 } });
  await sleptAll();

  // The last look is whether the partition is idle. It is the only one and stays: nothing is due any more.
  expect(await alarmOf(queue)).not.toBeNull();
  passTime(300_000);
  expect(await runDurableObjectAlarm(homeOf(queue))).toBe(true);
  await sleptAll();
  expect(await alarmOf(queue)).toBeNull();
});

it("an owner that might lose something has an alarm that brings it back after a crash", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  expect(await alarmOf(queue)).toBeNull();
  await windowPassed();
  const alarm = (await alarmOf(queue)) ?? 0;
  expect(alarm - Date.now()).toBeGreaterThan(200_000);
  expect(alarm - Date.now()).toBeLessThanOrEqual(300_000);
  await crashedAll();
  expect(await runDurableObjectAlarm(homeOf(queue))).toBe(true);
  expect(await popPayloads(queue)).toEqual([1]);
});

it("an inbox that is read at once sets no alarm", { timeout: 30_000 }, async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  await popOne(queue, { autoAck: true });
  await windowPassed();
  expect(await alarmOf(queue)).toBeNull();
  await sleptAll();
  expect(await alarmOf(queue)).toBeNull();
});
