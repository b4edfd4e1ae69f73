import { afterEach, expect, it, vi } from "vitest";
import type { Env } from "../../src/config.ts";
import { QueueError, refuseQueue } from "../../src/contract/queue-errors.ts";
import { leaseOf, refOf } from "../../src/durable/refs.ts";
import { DurableQueues } from "../../src/durable-queues.ts";
import type { PackedMessages, PulledMessage } from "../../src/durable/message.ts";
import type { DurableQueueMethods } from "../../src/objects/queue-protocol.ts";
import type { ResolvedQueue } from "../../src/objects/queue-records.ts";

/** The facade over objects that answer as the test wants. */

type Fake = Partial<DurableQueueMethods>;

interface Stage {
  queues: DurableQueues;
  /** Every call of an object or of Declarations, in order. */
  calls: string[];
}

function stage(resolve: (name: string) => unknown, object: (name: string) => Fake, vars: Partial<Env> = {}): Stage {
  const calls: string[] = [];
  const recorded = (name: string, fake: object) =>
    new Proxy(fake, {
      get:
        (methods, method) =>
        (...args: unknown[]) => {
          calls.push(`${name}.${String(method)}`);
          return (methods as Record<string | symbol, (...args: unknown[]) => unknown>)[method]?.(...args);
        },
    });
  const env = {
    DECLARATIONS: { getByName: () => recorded("declarations", { resolve: async (name: string) => resolve(name) }) },
    DURABLE_QUEUE: { idFromName: (name: string) => name, get: (name: string) => recorded(name, object(name)) },
    ...vars,
  } as unknown as Env;
  return { queues: new DurableQueues(env), calls };
}

function queueOf(...partitions: string[]): () => ResolvedQueue {
  return () => ({ queueId: "q", name: "orders", partitions });
}

const MESSAGE: PackedMessages = { types: ["text"], lengths: [1], delaySeconds: [null], bodies: new Uint8Array([65]) };
const BACKLOG = { count: 1, bytes: 1, oldestAt: 1, readyCount: 1, delayedCount: 0, leasedCount: 0 };
const PULL = { consumer: null, limit: 10, visibilityTimeoutMs: null, waitMs: 0 };

function lease(partition: string): string {
  return leaseOf({ partition, seq: 1, id: "id", cursor: 0 });
}

function ref(partition: string): string {
  return refOf({ partition, seq: 1, id: "id" });
}

function message(id: string): PulledMessage {
  return { id, sentAt: 1, attempts: 1, type: "text", body: new Uint8Array(), origin: null, leaseId: id };
}

afterEach(() => vi.restoreAllMocks());

it("looks a queue up once, and again when its object does not go by that name any more", async () => {
  let name = "orders";
  const { queues, calls } = stage(
    () => ({ queueId: "q", name, partitions: [] }),
    () => ({ send: async (queue) => (queue === name ? BACKLOG : refuseQueue(10104, "no such queue here")) }),
  );
  for (let i = 0; i < 3; i++) expect(await queues.send("q", "Default", MESSAGE)).toEqual(BACKLOG);
  expect(calls).toEqual(["declarations.resolve", "q:Default.send", "q:Default.send", "q:Default.send"]);
  name = "renamed";
  calls.length = 0;
  expect(await queues.send("q", "Default", MESSAGE)).toEqual(BACKLOG);
  expect(calls).toEqual(["q:Default.send", "declarations.resolve", "q:Default.send"]);
});

it("gives up after one more look, and does not ask twice when it has just looked", async () => {
  const { queues, calls } = stage(queueOf(), () => ({ send: async () => refuseQueue(10104, "never heard of it") }));
  await expect(queues.send("q", "Default", MESSAGE)).rejects.toThrow(QueueError);
  expect(calls).toEqual(["declarations.resolve", "q:Default.send"]);
  calls.length = 0;
  await expect(queues.send("q", "Default", MESSAGE)).rejects.toThrow("never heard of it (10104)");
  expect(calls).toEqual(["q:Default.send", "declarations.resolve", "q:Default.send"]);
});

it("does not send a second time when it is not known what became of the first", async () => {
  const { queues, calls } = stage(queueOf(), () => ({ send: () => Promise.reject(new Error("broken pipe")) }));
  await expect(queues.send("q", "Default", MESSAGE)).rejects.toMatchObject({ code: 15001, retryable: true });
  expect(calls.filter((call) => call.endsWith("send"))).toHaveLength(1);
});

it("adds up what the partitions hold; the oldest counts", async () => {
  const oldest: Record<string, number | null> = { "q:a": 7, "q:b": null, "q:c": 3 };
  const { queues } = stage(queueOf("a", "b", "c"), (name) => ({
    backlog: async () => ({ ...BACKLOG, oldestAt: oldest[name] ?? null }),
  }));
  const sum = { count: 3, bytes: 3, oldestAt: 3, readyCount: 3, delayedCount: 0, leasedCount: 0 };
  expect(await queues.backlog("q")).toEqual(sum);
  const empty = stage(queueOf(), () => ({}));
  expect(await empty.queues.backlog("q")).toMatchObject({ count: 0, oldestAt: null });
});

it("pulls from every partition, each time beginning with another", async () => {
  const { queues, calls } = stage(queueOf("Default", "a", "b"), (name) => ({ pull: async () => [message(name)] }));
  const firsts = [];
  for (let i = 0; i < 6; i++) firsts.push((await queues.pull("q", { ...PULL, limit: 1 }))[0]?.id);
  expect(new Set(firsts.slice(0, 3))).toEqual(new Set(["q:Default", "q:a", "q:b"]));
  expect(firsts.slice(3)).toEqual(firsts.slice(0, 3));
  // One that has enough asks nobody else.
  expect(calls.filter((call) => call.endsWith("pull"))).toHaveLength(6);
  expect((await queues.pull("q", PULL)).map(({ id }) => id).sort()).toEqual(["q:Default", "q:a", "q:b"]);
});

it("hands out what it has leased, even if another partition cannot be reached", async () => {
  const { queues } = stage(queueOf("Default", "bad"), (name) => ({
    pull: async () => {
      if (name === "q:bad") throw new Error("unreachable");
      return [message(name)];
    },
  }));
  for (let i = 0; i < 3; i++) expect(await queues.pull("q", PULL)).toHaveLength(1);
  const all = stage(queueOf("bad"), () => ({ pull: () => Promise.reject(new Error("unreachable")) }));
  await expect(all.queues.pull("q", PULL)).rejects.toMatchObject({ code: 15001 });
});

it("waits for an object that is restarting", async () => {
  let tries = 0;
  const { queues } = stage(queueOf("Default"), () => ({
    pull: async () => {
      tries++;
      if (tries === 1) throw new Error("restarting");
      return [message("late")];
    },
  }));
  expect(await queues.pull("q", { ...PULL, waitMs: 10_000 })).toHaveLength(1);
});

it("looks for new partitions while it waits", async () => {
  let partitions = ["Default"];
  const { queues } = stage(
    () => ({ queueId: "q", name: "orders", partitions }),
    (name) => ({
      pull: async () => (name === "q:new" ? [message(name)] : []),
      whenReady: async () => {
        partitions = ["Default", "new"];
        return false;
      },
    }),
  );
  expect((await queues.pull("q", { ...PULL, waitMs: 10_000 })).map(({ id }) => id)).toEqual(["q:new"]);
});

it("stops to wait when nobody listens any more", async () => {
  const gone = new AbortController();
  const { queues } = stage(queueOf("Default"), () => ({
    pull: async () => [],
    whenReady: async () => {
      gone.abort();
      return false;
    },
  }));
  expect(await queues.pull("q", { ...PULL, waitMs: 300_000 }, gone.signal)).toEqual([]);
});

it("ends a wait before its event has made more calls than the plan allows", async () => {
  for (const partitions of [["Default"], ["Default", "a", "b", "c", "d"]]) {
    const fake: Fake = { pull: async () => [], whenReady: async () => false, backlog: async () => BACKLOG };
    const { queues, calls } = stage(queueOf(...partitions), () => fake, { PLAN: "free" });
    expect(await queues.pull("q", { ...PULL, waitMs: 300_000 })).toEqual([]);
    await queues.backlog("q");
    expect(calls.length).toBeLessThanOrEqual(40);
    expect(calls.length).toBeGreaterThan(15);
  }
});

it("asks no more partitions than the plan allows, and refuses what needs all of them before it asks any", async () => {
  const names = Array.from({ length: 60 }, (_, n) => `p${n}`);
  const fake: Fake = {
    pull: async () => [],
    backlog: async () => BACKLOG,
    status: async () => ({ partition: "p" }) as never,
  };
  const many = () => stage(queueOf(...names), () => fake, { PLAN: "free" });

  const pulling = many();
  await pulling.queues.pull("q", PULL);
  expect(await pulling.queues.backlog("q", { partly: true })).toMatchObject({ count: expect.any(Number) });
  expect(pulling.calls.length).toBeLessThanOrEqual(40);
  expect(pulling.calls.length).toBeGreaterThan(35);

  const showing = many();
  const { partitions, unreachable } = await showing.queues.status("q");
  expect([partitions.length, unreachable.length, showing.calls.length]).toEqual([39, 21, 40]);
  expect(unreachable[0]?.error).toContain("PLAN");

  const leases = names.map((name) => ({ leaseId: lease(name), retry: null }));
  const refused: [string, (queues: DurableQueues) => Promise<unknown>][] = [
    ["backlog", (queues) => queues.backlog("q")],
    ["peek", (queues) => queues.peek("q", 1)],
    ["peekAfter", (queues) => queues.peekAfter("q", 1, "start")],
    ["purge", (queues) => queues.purge("q")],
    ["eject", (queues) => queues.eject("q")],
    ["settle", (queues) => queues.settle("q", leases)],
    ["purgeRefs", (queues) => queues.purgeRefs("q", names.map(ref))],
  ];
  for (const [verb, act] of refused) {
    const { queues, calls } = many();
    await expect(act(queues), verb).rejects.toMatchObject({ code: 10_253, status: 429, retryable: false });
    expect(calls, verb).toEqual(["declarations.resolve"]);
  }
});

it("asks no partition that a client has made up", async () => {
  const { queues, calls } = stage(queueOf("a"), () => ({ settle: async (list) => list.map(() => "acked" as const) }));
  const settlements = ["nonsense", lease("forged"), lease("a"), ""].map((leaseId) => ({ leaseId, retry: null }));
  expect(await queues.settle("q", settlements)).toEqual(["unknown", "unknown", "acked", "unknown"]);
  expect(calls).toEqual(["declarations.resolve", "q:a.settle"]);
  expect(await queues.purgeRefs("q", ["nonsense"])).toEqual(["nonsense"]);
});

it("shows the partitions that it can reach, and says which it cannot", async () => {
  const { queues } = stage(queueOf("a", "b"), (name) => ({
    status: () =>
      name === "q:b" ? Promise.reject(new Error("on fire")) : Promise.resolve({ partition: "a" } as never),
  }));
  const { partitions, unreachable } = await queues.status("q");
  expect(partitions).toEqual([{ partition: "a" }]);
  expect(unreachable).toMatchObject([{ partition: "b" }]);
  expect(unreachable[0]?.error).toContain("on fire");
});
