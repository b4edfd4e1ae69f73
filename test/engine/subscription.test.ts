import { expect, it } from "vitest";
import type { SubscribeRequest } from "../../src/engine/subscription.ts";
import { MAX_FRAME_CHARS } from "../../src/contract/limits.ts";
import { Batch } from "../../src/engine/batch.ts";
import { Bench, delivered } from "./harness.ts";

const REQUEST: SubscribeRequest = {
  id: "s",
  queue: "q",
  partition: "p",
  group: "g",
  prefetch: 10,
  expiresAt: Infinity,
};

function subscribed(more: Partial<SubscribeRequest> = {}): Bench {
  const bench = new Bench();
  bench.at(0);
  expect(bench.engine.subscribe({ ...REQUEST, ...more })).toBeNull();
  return bench;
}

function push({ engine }: Bench, ...payloads: unknown[]): void {
  const texts = payloads.map((payload) => JSON.stringify(payload));
  expect(engine.push("q", "p", texts, true)).toBe(texts.length);
}

/** What has been delivered, batch by batch. */
function batches({ effects }: Bench): unknown[][] {
  return effects.deliveries.map(({ batch }) => delivered(batch).map(({ payload }) => payload));
}

it("has nothing due and is quiet while it waits", () => {
  const bench = subscribed();
  expect([bench.engine.nextDueAt, bench.engine.isQuiet, bench.engine.parkedPops]).toEqual([Infinity, true, 0]);
  push(bench, 1);
  expect(bench.engine.isQuiet).toBe(false);
  const [{ id = "" } = {}] = bench.effects.deliveries.flatMap(({ batch }) => delivered(batch));
  bench.engine.subscriptions.settle("s", [{ id, status: "completed" }]);
  expect(bench.engine.ack("q", "g", [{ id, status: "completed" }])).toEqual(["acked"]);
  bench.engine.subscriptions.goOn("s");
  expect([bench.engine.nextDueAt, bench.engine.isQuiet]).toEqual([Infinity, true]);
});

it("begins to be idle when it ends", () => {
  const bench = subscribed();
  bench.at(1000);
  expect(bench.engine.subscriptions.end("s")).toEqual([]);
  bench.at(1299);
  expect(bench.engine.queues.has("q")).toBe(true);
  bench.at(1300);
  expect(bench.engine.queues.has("q")).toBe(false);
});

it("is handed no more than its credit, and the rest as it settles", () => {
  const bench = subscribed({ prefetch: 2 });
  push(bench, 1, 2, 3);
  expect(batches(bench)).toEqual([[1, 2]]);
  const [{ id = "" } = {}] = bench.effects.deliveries.flatMap(({ batch }) => delivered(batch));
  bench.engine.subscriptions.settle("s", [{ id, status: "retry", attempts: 2 }]);
  bench.engine.subscriptions.goOn("s");
  expect(batches(bench)).toEqual([[1, 2]]);
  bench.engine.subscriptions.settle("s", [{ id, status: "retry", attempts: 1 }]);
  bench.engine.ack("q", "g", [{ id, status: "retry" }]);
  bench.engine.subscriptions.goOn("s");
  // What came back comes first.
  expect(batches(bench)).toEqual([[1, 2], [1]]);
});

/** What is left of a batch is settled, as an owner does it for a socket. */
function settleBatch({ engine }: Bench, number: number): number {
  const handed = engine.subscriptions.inBatch("s", number);
  engine.subscriptions.settleBatch("s", number);
  const completed = engine.complete("q", "g", handed);
  engine.subscriptions.goOn("s");
  return completed;
}

it("settles a batch as a whole, once, and what it has settled singly before is not in it", () => {
  const bench = subscribed({ prefetch: 3 });
  push(bench, 1, 2, 3, 4);
  const [first] = bench.effects.deliveries;
  const [{ id = "" } = {}] = delivered(first?.batch ?? new Batch(0));
  bench.engine.subscriptions.settle("s", [{ id, status: "retry" }]);
  bench.engine.ack("q", "g", [{ id, status: "retry" }]);
  bench.engine.subscriptions.goOn("s");
  expect(batches(bench)).toEqual([[1, 2, 3], [1]]);
  expect(settleBatch(bench, 1)).toBe(2);
  expect([settleBatch(bench, 1), settleBatch(bench, 99)]).toEqual([0, 0]);
  expect(batches(bench)).toEqual([[1, 2, 3], [1], [4]]);
  expect(bench.engine.subscriptions.end("s")).toEqual([{ partition: "p", seqs: [0, 3], attempts: [2, 1] }]);
  expect(bench.engine.isQuiet).toBe(false);
  expect(bench.effects.deliveries.map(({ number }) => number)).toEqual([1, 2, 3]);
});

it("has nothing more of a batch whose leases have ended", () => {
  const bench = subscribed({ prefetch: 2 });
  push(bench, 1, 2);
  bench.at(30);
  expect(batches(bench)).toEqual([
    [1, 2],
    [1, 2],
  ]);
  expect(settleBatch(bench, 1)).toBe(0);
  expect(settleBatch(bench, 2)).toBe(2);
  expect(bench.engine.isQuiet).toBe(true);
});

it("a batch that somebody else has taken is not completed for it", () => {
  const bench = subscribed({ prefetch: 1 });
  push(bench, 1);
  const [{ id = "" } = {}] = bench.effects.deliveries.flatMap(({ batch }) => delivered(batch));
  // Handed back in its name, and taken by a pop before it goes on.
  bench.engine.ack("q", "g", [{ id, status: "retry" }]);
  expect(bench.pop({ partition: "p", group: "g" })).toMatchObject([{ attempts: 2 }]);
  expect(settleBatch(bench, 1)).toBe(0);
});

it("is sent large messages in several batches, each within a frame", () => {
  const bench = subscribed({ prefetch: 10 });
  bench.engine.configure("q", { maxBytes: 10_000_000 });
  const large = "x".repeat(MAX_FRAME_CHARS / 2 - 200);
  push(bench, large, large, large, 1);
  const counts = bench.effects.deliveries.map(({ number, batch }) => [number, batch.count]);
  expect(counts).toEqual([
    [1, 2],
    [2, 2],
  ]);
  expect([settleBatch(bench, 2), settleBatch(bench, 1)]).toEqual([2, 2]);
  expect(bench.engine.isQuiet).toBe(true);
});

it("gets its credit back when leases end", () => {
  const bench = subscribed({ prefetch: 1 });
  push(bench, 1, 2);
  bench.at(29);
  expect(batches(bench)).toEqual([[1]]);
  bench.at(30);
  expect(batches(bench)).toEqual([[1], [1]]);
});

it("an ack by somebody else, of a message that it is handed at once again, does not take that from it", () => {
  const bench = subscribed({ prefetch: 5 });
  push(bench, 1);
  const [{ id = "" } = {}] = bench.effects.deliveries.flatMap(({ batch }) => delivered(batch));
  bench.engine.subscriptions.settle("s", [{ id, status: "retry" }]);
  bench.engine.ack("q", "g", [{ id, status: "retry" }]);
  bench.engine.subscriptions.goOn("s");
  expect(batches(bench)).toEqual([[1], [1]]);
  expect(bench.engine.subscriptions.end("s")).toEqual([{ partition: "p", seqs: [0], attempts: [2] }]);
});

it("what comes back from one that has gone counts as delivered, and is not given up for it", () => {
  const bench = subscribed({ prefetch: 1 });
  push(bench, 1);
  bench.engine.configure("q", { retryLimit: 1 });
  const out = bench.engine.subscriptions.end("s");
  bench.engine.release("q", "g", out, true);
  bench.engine.subscribe({ ...REQUEST, id: "t" });
  expect(bench.effects.deliveries.map(({ batch }) => delivered(batch)[0]?.attempts)).toEqual([1, 2]);
});

it("ends when its token does, before it is handed anything, and lets the next one have it", () => {
  const bench = subscribed({ expiresAt: 5000 });
  bench.engine.subscribe({ ...REQUEST, id: "t" });
  expect(bench.engine.nextDueAt).toBe(Infinity);
  bench.engine.advance(5000);
  push(bench, 1);
  expect(bench.effects.ends).toEqual([{ id: "s", why: "expired", out: [] }]);
  expect(bench.effects.deliveries.map(({ id }) => id)).toEqual(["t"]);
});

it("ends with its queue, and with it alone", () => {
  const bench = subscribed();
  bench.engine.subscribe({ ...REQUEST, id: "t", queue: "other" });
  push(bench, 1);
  bench.engine.remove("q");
  expect(bench.effects.ends).toEqual([
    { id: "s", why: "deleted", out: [{ partition: "p", seqs: [0], attempts: [1] }] },
  ]);
  expect([bench.engine.subscriptions.size, bench.engine.isQuiet]).toEqual([1, true]);
});

it("counts among those that may wait", () => {
  const bench = new Bench({ maxWaiters: 1 });
  bench.at(0);
  expect(bench.engine.subscribe(REQUEST)).toBeNull();
  expect(bench.engine.subscribe({ ...REQUEST, id: "t" })).toMatchObject({ code: "ephemeral_unavailable" });
  bench.engine.subscriptions.end("s");
  expect(bench.engine.subscribe({ ...REQUEST, id: "t" })).toBeNull();
});

it("leaves nothing in memory when it goes", () => {
  const bench = new Bench();
  bench.at(0);
  bench.engine.pop({ queue: "q", partition: "p", group: "g", batch: 1, autoAck: false, waitMs: 0, waiterId: "" });
  const before = bench.engine.memoryBytes;
  bench.engine.subscribe(REQUEST);
  expect(bench.engine.memoryBytes).toBeGreaterThan(before);
  bench.engine.subscriptions.end("s");
  expect(bench.engine.memoryBytes).toBe(before);
});
