import { abortAllDurableObjects, evictAllDurableObjects, reset as resetAll, runInDurableObject } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { counted, QUIET_MS, sleptAll, timersFollowTheClock, windowPassed } from "./checkpoint-support.ts";
import {
  configure,
  depth,
  env,
  freshQueue,
  homeOf,
  OWNERS,
  partitionAway,
  partitionsAway,
  passTime,
  pop,
  popPayloads,
  push,
} from "./support.ts";
import type { Subscribe } from "../../src/objects/protocol.ts";
import {
  aMoment,
  place,
  PLACES,
  subscribe,
  subscribersEndWithTheirTest,
  type Subscriber,
} from "./subscribe-support.ts";

timersFollowTheClock();
subscribersEndWithTheirTest();

beforeEach(async () => {
  await resetAll();
});

/** Alarms that are set, over all owners. */
async function alarms(): Promise<number> {
  let set = 0;
  for (let owner = 0; owner < OWNERS; owner++) {
    const stub = env.OWNER.getByName(`owner-${owner}`);
    const at = await runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
    set += at === null ? 0 : 1;
  }
  return set;
}

/** A socket of a client whose rights are given, as the router opens it. */
async function openAs(asked: Subscribe): Promise<{ frames: string[]; closed: Promise<number> }> {
  const url = `http://owner/?subscribe=${encodeURIComponent(JSON.stringify(asked))}`;
  const { webSocket } = await homeOf(asked.queue).fetch(url, { headers: { upgrade: "websocket" } });
  const frames: string[] = [];
  const { promise, resolve } = Promise.withResolvers<number>();
  webSocket?.addEventListener("message", ({ data }) => void frames.push(data as string));
  webSocket?.addEventListener("close", ({ code }) => void resolve(code));
  webSocket?.accept();
  return { frames, closed: promise };
}

function typesOf(frames: readonly string[]): string[] {
  return frames.map((text) => (JSON.parse(text) as { type: string }).type);
}

it.each(PLACES)("200 parked sockets outlive their owner's sleep: %s", { timeout: 60_000 }, async (_, where, named) => {
  const { queue, partition, parameters } = place(where, named);
  const subscribers: Subscriber[] = [];
  for (let i = 0; i < 200; i++) subscribers.push(await subscribe(queue, { ...parameters, group: `g${i}` }));
  for (let round = 0; round < 2; round++) {
    await sleptAll();
    await push(queue, [round], partition);
    for (const subscriber of subscribers) {
      await subscriber.has(round + 1);
      subscriber.send({ type: "ack", acks: [{ id: subscriber.messages[round]?.id }] });
    }
  }
  expect(subscribers.every(({ messages }) => messages.every(({ attempts }) => attempts === 1))).toBe(true);
  await expect.poll(async () => (await depth(queue)).pending).toBe(0);
  expect(await counted("wipes_total")).toBe(0);
});

it.each([
  ["in queue mode", undefined, undefined],
  ["with a group", "g", undefined],
  ["with a group, on a declared queue", "g", 60],
])(
  "keeps no timer and no alarm while subscribers are parked on an empty queue, %s",
  { timeout: 60_000 },
  async (_, group, groupIdleSeconds) => {
    const queue = freshQueue();
    const partition = partitionAway(queue);
    if (groupIdleSeconds !== undefined) await configure(queue, { groupIdleSeconds });
    const parameters = group === undefined ? {} : { group };
    const named = await subscribe(queue, { ...parameters, partition });
    const home = await subscribe(queue, { ...parameters, partition: "Default" });
    await push(queue, [1], partition);
    await push(queue, [2]);
    expect(await named.has(1)).toEqual([1]);
    expect(await home.has(1)).toEqual([2]);
    await named.ackAll();
    await home.ackAll();
    // An eviction waits for timers: nobody is evicted before the owners have gone to sleep by themselves.
    await sleptAll();
    expect(await alarms()).toBe(0);
    passTime(3_600_000);
    await evictAllDurableObjects();
    expect(await alarms()).toBe(0);
    await push(queue, [3], partition);
    expect(await named.has(2)).toEqual([1, 3]);
  },
);

it("keeps no timer and no alarm for subscribers of any partition of an empty queue", { timeout: 60_000 }, async () => {
  const queue = freshQueue();
  const subscriber = await subscribe(queue, { group: "g" });
  await push(queue, [1]);
  await subscriber.has(1);
  await subscriber.ackAll();
  await sleptAll();
  expect(await alarms()).toBe(0);
  passTime(3_600_000);
  await push(queue, [2], partitionAway(queue));
  expect(await subscriber.has(2)).toEqual([1, 2]);
});

it("goes on with credit and acks after its owner's sleep", { timeout: 60_000 }, async () => {
  const queue = freshQueue();
  const subscriber = await subscribe(queue, { prefetch: 2 });
  await sleptAll();
  await push(queue, [1, 2, 3]);
  expect(await subscriber.has(2)).toEqual([1, 2]);
  expect(await subscriber.ackAll()).toEqual(["acked", "acked"]);
  expect(await subscriber.has(3)).toEqual([1, 2, 3]);
  subscriber.close();
  await aMoment();
  expect(await pop(queue)).toMatchObject([{ payload: 3, attempts: 2 }]);
});

it(
  "a late ack of a batch from before its owner's sleep settles nothing of what came since",
  { timeout: 60_000 },
  async () => {
    const queue = freshQueue();
    const subscriber = await subscribe(queue, { partition: "Default" });
    await push(queue, [1]);
    await subscriber.has(1);
    const [before] = subscriber.batches;
    expect(await subscriber.ackBatch(before)).toBe(1);
    await sleptAll();
    await push(queue, [2]);
    expect(await subscriber.has(2)).toEqual([1, 2]);
    expect(await subscriber.ackBatch(before)).toBe(0);
    expect(await subscriber.ackBatch(subscriber.batches[1])).toBe(1);
  },
);

it("a frame of the client wakes its owner", { timeout: 60_000 }, async () => {
  const queue = freshQueue();
  const [partition] = partitionsAway(queue);
  const subscriber = await subscribe(queue, { partition: String(partition) });
  await sleptAll();
  expect(await subscriber.ask({ type: "push", partition, messages: [{ payload: 1 }] })).toMatchObject({ pushed: 1 });
  expect(await subscriber.has(1)).toEqual([1]);
});

it("an owner stays awake for what is out on a socket", { timeout: 60_000 }, async () => {
  const queue = freshQueue();
  await configure(queue, { leaseSeconds: 60 });
  const partition = partitionAway(queue);
  const subscriber = await subscribe(queue, { prefetch: 1 });
  await push(queue, [1], partition);
  await subscriber.has(1);
  const slept = sleptAll();
  const state = await Promise.race([slept.then(() => "asleep"), scheduler.wait(500).then(() => "awake")]);
  expect(state).toBe("awake");
  passTime(55_000);
  await subscriber.has(2);
  expect(await subscriber.ack([{ id: subscriber.messages[1]?.id ?? "" }])).toEqual(["acked"]);
  // Its quiet begins with that ack.
  passTime(QUIET_MS);
  await slept;
});

it("a subscriber counts as popping, however long its owner sleeps, and for a while after it has gone", async () => {
  const queue = freshQueue();
  const partition = partitionAway(queue);
  const subscriber = await subscribe(queue, { partition, group: "g" });
  await sleptAll();
  passTime(400_000);
  await push(queue, [1], partition);
  expect(await subscriber.has(1)).toEqual([1]);
  await subscriber.ackAll();
  await sleptAll();
  passTime(400_000);
  // As after a deployment: sockets are gone with their owner, and nobody has told it.
  await abortAllDurableObjects();
  await subscriber.closed;
  await pop(queue, { partition, group: "other" });
  await push(queue, [2], partition);
  expect(await popPayloads(queue, { partition, group: "other", autoAck: true })).toEqual([2]);
  const again = await subscribe(queue, { partition, group: "g" });
  expect(await again.has(1)).toEqual([2]);
});

it("a group whose last subscriber has gone is forgotten like any other", { timeout: 60_000 }, async () => {
  const queue = freshQueue();
  const subscriber = await subscribe(queue, { group: "g" });
  await pop(queue, { group: "other" });
  subscriber.close();
  await aMoment();
  passTime(299_000);
  await pop(queue, { group: "other" });
  expect((await depth(queue)).groups.map(({ group }) => group)).toEqual(["g", "other"]);
  passTime(2000);
  await pop(queue, { group: "other" });
  await expect.poll(async () => (await depth(queue)).groups.map(({ group }) => group)).toEqual(["other"]);
});

it(
  "after a crash the client subscribes again, and its group is owed what it had not acked",
  { timeout: 60_000 },
  async () => {
    const queue = freshQueue();
    const partition = partitionAway(queue);
    const subscriber = await subscribe(queue, { partition, group: "g", prefetch: 3 });
    await push(queue, [1, 2, 3, 4], partition);
    await subscriber.has(3);
    expect(await subscriber.ack([{ id: subscriber.messages[0]?.id ?? "" }])).toEqual(["acked"]);
    await subscriber.has(4);
    await windowPassed();
    await abortAllDurableObjects();
    await subscriber.closed;
    const again = await subscribe(queue, { partition, group: "g" });
    expect(await again.has(3)).toEqual([2, 3, 4]);
    expect(again.messages.map(({ attempts }) => attempts)).toEqual([2, 2, 2]);
    expect(await again.ack([{ id: subscriber.messages[1]?.id ?? "" }])).toEqual(["stale"]);
    expect(await again.ackAll()).toEqual(["acked", "acked", "acked"]);
  },
);

it(
  "an expired token ends the subscription when its owner is awake again, and gives nothing away",
  { timeout: 60_000 },
  async () => {
    const queue = freshQueue();
    const asked = { id: "s", queue, partition: "Default", group: "g", prefetch: 1 };
    const bearer = { claims: { admin: true as const }, expiresAt: Date.now() + 60_000 };
    const awake = await openAs({ ...asked, bearer });
    passTime(61_000);
    await push(queue, [1]);
    expect(await awake.closed).toBe(4401);
    expect(typesOf(awake.frames)).toEqual(["subscribed", "end"]);
    const other = {
      ...asked,
      id: "t",
      queue: `${queue}-other`,
      bearer: { ...bearer, expiresAt: Date.now() + 60_000 },
    };
    const asleep = await openAs(other);
    await sleptAll();
    passTime(61_000);
    await push(other.queue, [2]);
    expect(await asleep.closed).toBe(4401);
    expect(typesOf(asleep.frames)).toEqual(["subscribed", "end"]);
    expect(await pop(other.queue, { group: "g" })).toMatchObject([{ payload: 2, attempts: 1 }]);
  },
);
