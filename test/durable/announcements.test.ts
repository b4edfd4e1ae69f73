import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import type { QueueConfig } from "../../src/contract/queue-config.ts";
import { Database } from "../../src/durable/database.ts";
import { Announcements } from "../../src/objects/announcements.ts";
import { addConsumer, call, env, freshName, freshQueue, QUEUES, refused, result } from "./support.ts";

const declarations = env.DECLARATIONS.getByName("declarations");

afterEach(() => vi.restoreAllMocks());

/** The version of a queue, and what each of its objects has heard. */
function heard(queueId: string): Promise<{ version: number; partitions: Record<string, number> }> {
  return runInDurableObject(declarations, (_, { storage }) => {
    const db = new Database(storage.sql);
    const rows = db.all<{ partition: string; heard: number }>(
      "SELECT partition, heard FROM partitions WHERE queue_id = ?",
      queueId,
    );
    const queue = db.first<{ version: number }>("SELECT version FROM queues WHERE queue_id = ?", queueId);
    return {
      version: queue?.version ?? 0,
      partitions: Object.fromEntries(rows.map((row) => [row.partition, row.heard])),
    };
  });
}

function push(queueId: string, partition: string): Promise<unknown> {
  return result("POST", `${QUEUES}/${queueId}/messages`, { body: 1, partition });
}

it("records a partition at its first send, with what it was told", async () => {
  const { queue_id } = await freshQueue();
  expect(await heard(queue_id)).toEqual({ version: 1, partitions: {} });
  await push(queue_id, "a");
  expect(await heard(queue_id)).toEqual({ version: 1, partitions: { a: 1 } });
});

it("tells every partition of a change before it answers, and of nothing when nothing has changed", async () => {
  const { queue_id } = await freshQueue();
  for (const partition of ["a", "b"]) await push(queue_id, partition);
  await result("PATCH", `${QUEUES}/${queue_id}`, { settings: { delivery_delay: 60 } });
  expect(await heard(queue_id)).toEqual({ version: 2, partitions: { a: 2, b: 2 } });
  await result("PATCH", `${QUEUES}/${queue_id}`, { settings: { delivery_delay: 60 } });
  expect((await heard(queue_id)).version).toBe(2);
  const consumer = { type: "http_pull" };
  await addConsumer(queue_id, consumer);
  await addConsumer(queue_id, consumer);
  expect(await heard(queue_id)).toEqual({ version: 3, partitions: { a: 3, b: 3 } });
  // The object acts upon it: the next message is delayed.
  const counted = () => result<{ status: { delayed_count: number } }>("GET", `${QUEUES}/${queue_id}`);
  const before = (await counted()).status.delayed_count;
  await push(queue_id, "a");
  expect((await counted()).status.delayed_count).toBe(before + 1);
});

it("tells the sources of dead letters of the new name of the queue that takes them", async () => {
  const { queue_id } = await freshQueue();
  const target = await freshQueue();
  await addConsumer(queue_id, { type: "http_pull", dead_letter_queue: target.queue_name });
  await push(queue_id, "a");
  const { version } = await heard(queue_id);
  await result("PATCH", `${QUEUES}/${target.queue_id}`, { queue_name: freshName() });
  expect(await heard(queue_id)).toEqual({ version: version + 1, partitions: { a: version + 1 } });
});

it("bumps no version when a manifest is applied again", async () => {
  const { queue_id, queue_name } = await freshQueue();
  const manifest = { name: "mail", queues: { consumers: [{ queue: queue_name, dead_letter_queue: freshName() }] } };
  await result("POST", "/api/v1/manifests", manifest);
  const { version } = await heard(queue_id);
  await result("POST", "/api/v1/manifests", manifest);
  expect((await heard(queue_id)).version).toBe(version);
});

interface Told {
  queueId: string;
  partition: string;
  version: number | "destroyed";
}

/** Announcements over the real tables, to objects that answer as the test wants. */
async function announce(tell: (told: Told) => Promise<void>, calls = 900) {
  return runInDurableObject(declarations, async (_, { storage }) => {
    const wakes: (number | null)[] = [];
    const announcements = new Announcements(new Database(storage.sql), {
      object: (queueId, partition) => ({
        configure: ({ version }) => tell({ queueId, partition, version }),
        destroy: () => tell({ queueId, partition, version: "destroyed" }),
      }),
      config: (queueId) => ({ queueId, version: versionOf(storage.sql, queueId) }) as QueueConfig,
      wake: async (at) => void wakes.push(at),
      calls,
    });
    await announcements.flush();
    return wakes;
  });
}

function versionOf(sql: SqlStorage, queueId: string): number {
  return sql.exec<{ version: number }>("SELECT version FROM queues WHERE queue_id = ?", queueId).one().version;
}

/** Makes it so that these partitions have a change to hear of. */
async function bump(queueId: string, partitions: string[]): Promise<void> {
  for (const partition of partitions) await push(queueId, partition);
  await runInDurableObject(declarations, (_, { storage }) => {
    storage.sql.exec("UPDATE queues SET version = version + 1 WHERE queue_id = ?", queueId);
    storage.sql.exec("UPDATE partitions SET tries = 0, retry_at = 0 WHERE queue_id = ?", queueId);
  });
}

it("tries again, later and later, until an object has heard", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const { queue_id } = await freshQueue();
  await bump(queue_id, ["good", "bad"]);
  const told: string[] = [];
  const tell = async ({ partition }: Told) => {
    told.push(partition);
    if (partition === "bad") throw new Error("unreachable");
  };
  let now = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => now);
  for (const waitMs of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
    const wakes = await announce(tell);
    expect(wakes.at(-1)).toBe(now + waitMs);
    // Not before its time.
    now += waitMs - 1;
    const count = told.length;
    await announce(tell);
    expect(told.length).toBe(count);
    now += 1;
  }
  expect(await heard(queue_id)).toMatchObject({ version: 2, partitions: { good: 2, bad: 1 } });
  expect(told.filter((partition) => partition === "good")).toHaveLength(1);
  const wakes = await announce(async () => {});
  expect(wakes.at(-1)).toBeNull();
  expect((await heard(queue_id)).partitions).toEqual({ good: 2, bad: 2 });
});

it("asks to be woken before it calls anybody: it may be stopped in the middle", async () => {
  const { queue_id } = await freshQueue();
  await bump(queue_id, ["a"]);
  let wakesAtCall = -1;
  const wakes = await announce(async () => {
    wakesAtCall = 1;
  });
  expect(wakesAtCall).toBe(1);
  expect(wakes).toEqual([expect.any(Number), null]);
});

it("makes no more calls in one event than the plan allows, and goes on at once in another", async () => {
  const { queue_id } = await freshQueue();
  await bump(queue_id, ["a", "b", "c"]);
  const told: string[] = [];
  const tell = async ({ partition }: Told) => void told.push(partition);
  const wakes = await announce(tell, 2);
  expect(told).toHaveLength(2);
  expect(wakes.at(-1)).toBeLessThanOrEqual(Date.now());
  await announce(tell, 2);
  expect(told.sort()).toEqual(["a", "b", "c"]);
});

it("goes on after a restart, by the alarm", async () => {
  const { queue_id } = await freshQueue();
  await bump(queue_id, ["a"]);
  // As it is left when the object is stopped between the change and the call.
  await runInDurableObject(declarations, async (_, { storage }) => {
    storage.kv.put("wake:announcements", Date.now());
    await storage.setAlarm(Date.now() + 3_600_000);
  });
  await evictDurableObject(declarations);
  expect((await heard(queue_id)).partitions).toEqual({ a: 1 });
  expect(await runDurableObjectAlarm(declarations)).toBe(true);
  expect((await heard(queue_id)).partitions).toEqual({ a: 2 });
  expect(await runDurableObjectAlarm(declarations)).toBe(false);
});

it("destroys the objects of a deleted queue, and remembers those that it could not reach", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const { queue_id } = await freshQueue();
  for (const partition of ["a", "b"]) await push(queue_id, partition);
  await runInDurableObject(declarations, (_, { storage }) => {
    storage.sql.exec(
      "INSERT INTO destroyed_partitions (queue_id, partition) SELECT queue_id, partition FROM partitions WHERE queue_id = ?",
      queue_id,
    );
  });
  const told: Told[] = [];
  await announce(async (one) => {
    told.push(one);
    if (one.partition === "b") throw new Error("unreachable");
  });
  expect(told).toEqual(["a", "b"].map((partition) => ({ queueId: queue_id, partition, version: "destroyed" })));
  const left = await runInDurableObject(declarations, (_, { storage }) =>
    storage.sql.exec("SELECT partition, tries FROM destroyed_partitions").toArray(),
  );
  expect(left).toEqual([{ partition: "b", tries: 1 }]);
});

it("lets no object of a deleted queue take messages again", async () => {
  const { queue_id, queue_name } = await freshQueue();
  await push(queue_id, "a");
  await result("DELETE", `${QUEUES}/${queue_id}`);
  await refused(call("POST", `${QUEUES}/${queue_name}/messages`, { body: 1, partition: "a" }), 404, 10104);
  const object = env.DURABLE_QUEUE.getByName(`${queue_id}:a`);
  expect(await object.backlog()).toMatchObject({ count: 0 });
  const open = await runInDurableObject(declarations, (instance) => instance.openPartition(queue_id, "a"));
  expect(open).toBeNull();
});
