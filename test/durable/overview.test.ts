import { expect, it } from "vitest";
import { CALLS_PER_EVENT, type Env } from "../../src/config.ts";
import type { Overview } from "../../src/contract/overview.ts";
import { Watch } from "../../src/overview.ts";
import { addConsumer, call, env, freshQueue, QUEUES, result } from "./support.ts";

async function look(query: Record<string, string> = {}): Promise<Overview> {
  const response = await call("GET", `/api/v1/system/overview?${new URLSearchParams(query)}`);
  expect(response.status).toBe(200);
  return response.json();
}

async function durable(name: string) {
  return (await look()).durable.find(({ queue }) => queue === name);
}

function send(queue: string, messages: object[], partition?: string): Promise<unknown> {
  return result("POST", `${QUEUES}/${queue}/messages/batch`, { messages, partition });
}

function push(queue: string, payloads: unknown[], partition = "Default"): Promise<Response> {
  const messages = payloads.map((payload) => ({ payload }));
  return call("POST", "/api/v1/ephemeral/push", { queue, partition, messages });
}

it("adds up what the partitions of a durable queue hold, and counts what came", async () => {
  const { queue_id, queue_name } = await freshQueue();
  await addConsumer(queue_id, { type: "http_pull", name: "reader" });
  const before = Date.now();
  await send(queue_name, [{ body: 1 }, { body: 2, delay_seconds: 60 }]);
  await send(queue_name, [{ body: 3 }], "other");
  expect(await durable(queue_name)).toMatchObject({
    queueId: queue_id,
    paused: false,
    consumers: [{ name: "reader", type: "http_pull", deadLetterQueue: null }],
    partitions: 2,
    unreachable: 0,
    skipped: 0,
    ready: 2,
    delayed: 1,
    leased: 0,
    sent: 3,
    deadLettered: 0,
    lastDelivery: null,
  });
  expect((await durable(queue_name))?.oldestAt).toBeGreaterThanOrEqual(before);
  await result("POST", `${QUEUES}/${queue_id}/purge`, { delete_messages_permanently: true });
  expect(await durable(queue_name)).toMatchObject({
    ready: 0,
    delayed: 0,
    sent: 2,
    oldestAt: null,
    dropped: { purged: 3 },
  });
});

it("shows ephemeral queues over all of their owners, with what was pushed", async () => {
  const queue = "rooms";
  const before = Date.now();
  for (const partition of ["a", "b", "c", "d"]) await push(queue, [1, 2], partition);
  await call("GET", `/api/v1/ephemeral/pop?queue=${queue}&partition=a&batch=2&autoAck=true`);
  const shown = (await look()).ephemeral.find((each) => each.queue === queue);
  expect(shown).toMatchObject({ tier: "implicit", depth: 6, bytes: 6, partitions: 4, pushed: 8 });
  expect(shown?.oldestAt).toBeGreaterThanOrEqual(before);
});

it("waits with a known version until something changes", async () => {
  const { queue_name } = await freshQueue();
  const { version } = await look();
  const waiting = look({ after: version, waitMs: "25000" });
  await send(queue_name, [{ body: 1 }]);
  const changed = await waiting;
  expect(changed.version).not.toBe(version);
  expect(changed.durable.find(({ queue }) => queue === queue_name)?.ready).toBe(1);
  // An unknown version is another one.
  expect((await look({ after: "none", waitMs: "25000" })).version).toBe(changed.version);
});

it("answers with the known version when the wait is over", async () => {
  const { version } = await look();
  expect((await look({ after: version, waitMs: "1200" })).version).toBe(version);
});

/** A namespace that counts how often it gives an object, which is once for each call. */
function counted<T extends object>(namespace: T, count: () => void): T {
  return new Proxy(namespace, {
    get(target, name) {
      if (name === "get" || name === "getByName") count();
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

it("stops waiting before its calls pass what one event may make", async () => {
  let calls = 0;
  const count = () => void calls++;
  const vars: Env = {
    ...env,
    PLAN: "free",
    OWNERS: 3,
    OWNER: counted(env.OWNER, count),
    DECLARATIONS: counted(env.DECLARATIONS, count),
    DURABLE_QUEUE: counted(env.DURABLE_QUEUE, count),
  };
  const { signal } = new AbortController();
  const { version } = await new Watch(vars).next(null, 0, signal);
  const callsOfLook = calls;
  calls = 0;
  expect((await new Watch(vars).next(version, 60_000, signal)).version).toBe(version);
  expect(calls).toBeLessThanOrEqual(CALLS_PER_EVENT.free);
  // It waits for as long as it can.
  expect(calls).toBeGreaterThan(CALLS_PER_EVENT.free - callsOfLook);
});

it("does not look again for who has gone", async () => {
  const { version } = await look();
  const gone = AbortSignal.abort();
  expect((await new Watch(env).next(version, 60_000, gone)).version).toBe(version);
});
