import { expect, it } from "vitest";
import { MAX_KEYS_PER_OWNER, MAX_KEYS_PER_PARTITION, MAX_WRITTEN_KEYS } from "../../src/contract/limits.ts";
import { exportRing } from "../../src/engine/adopt.ts";
import { Bench } from "./harness.ts";
import { Restarts } from "./restarts.ts";

function push({ engine }: Pick<Bench, "engine">, payloads: string[], key: string, queue = "q", partition = "p") {
  return engine.push(queue, partition, payloads, false, { key });
}

it("a repeat by the same key stores nothing and answers as the first did, for 60 s", () => {
  const bench = new Bench();
  expect(push(bench, ["1", "2"], "k")).toBe(2);
  bench.at(59.999);
  expect(push(bench, ["1", "2"], "k")).toBe(2);
  expect(push(bench, ["3"], "k"), "whatever it holds").toBe(2);
  expect(bench.length()).toBe(2);
  bench.at(60);
  expect(push(bench, ["3"], "k")).toBe(1);
  expect(bench.length()).toBe(3);
});

it("a repeat is known when the messages have been consumed, reset or deleted meanwhile", () => {
  const bench = new Bench();
  push(bench, ["1"], "k");
  bench.pop({ autoAck: true });
  push(bench, ["1"], "k");
  expect(bench.length()).toBe(0);
  push(bench, ["2"], "l");
  bench.engine.reset("q");
  push(bench, ["2"], "l");
  expect(bench.length()).toBe(0);
  bench.engine.remove("q");
  push(bench, ["2"], "l");
  expect(bench.length(), "and it does not bring the queue back").toBeNull();
});

it("a key belongs to one partition of one queue", () => {
  const bench = new Bench();
  push(bench, ["1"], "k");
  push(bench, ["1"], "k", "q", "other");
  push(bench, ["1"], "k", "other");
  expect([bench.length(), bench.length("other")]).toEqual([2, 1]);
});

it("a push that was refused has not been, and neither has an empty one", () => {
  const bench = new Bench({ queueMaxLength: 1 });
  expect(push(bench, ["1", "2"], "k")).toMatchObject({ code: "queue_full" });
  expect(push(bench, [], "k")).toBe(0);
  expect(push(bench, ["1"], "k")).toBe(1);
});

it("keys count as memory, are given back with time, and a push without one costs nothing", () => {
  const bench = new Bench();
  push(bench, ["1"], "k");
  bench.engine.remove("q");
  expect(bench.engine.memoryBytes).toBeGreaterThan(0);
  expect(bench.engine.nextDueAt, "nothing wakes an owner for them").toBe(Infinity);
  bench.at(60);
  expect(bench.engine.memoryBytes).toBe(0);
  bench.push([1]);
  bench.engine.remove("q");
  expect(bench.engine.memoryBytes).toBe(0);
});

it("a key that finds no room refuses its push", () => {
  const bench = new Bench();
  bench.push([1]);
  bench.roomBytes = bench.engine.memoryBytes + 300;
  expect(push(bench, ["2"], "k")).toMatchObject({ code: "ephemeral_unavailable" });
  expect(bench.push([2])).toBeNull();
});

it("beyond the bounds the oldest key is forgotten first, of the partition and of the owner", () => {
  const bench = new Bench({ queueMaxLength: 1_000_000 });
  for (let n = 0; n <= MAX_KEYS_PER_PARTITION; n++) push(bench, ["1"], `k${n}`);
  expect([bench.engine.pushedWith("q", "p", "k0"), bench.engine.pushedWith("q", "p", "k1")]).toEqual([null, 1]);
  for (let n = MAX_KEYS_PER_PARTITION; n <= MAX_KEYS_PER_OWNER; n++) push(bench, ["1"], "k", `q${n}`);
  expect([bench.engine.pushedWith("q", "p", "k1"), bench.engine.pushedWith("q", "p", "k2")]).toEqual([null, 1]);
  const memory = bench.engine.memoryBytes;
  push(bench, ["1"], "k1");
  expect(bench.engine.memoryBytes - memory, "one for one, and a message").toBeLessThan(210);
});

it("keys are written with the next checkpoint and never cause one", () => {
  const owner = new Restarts();
  push(owner, ["1"], "k");
  owner.pop({ autoAck: true });
  expect(owner.engine.ledger.isClean).toBe(true);
  push(owner, ["2"], "l");
  owner.checkpoint();
  owner.crash();
  expect([push(owner, ["1"], "k"), push(owner, ["2"], "l")]).toEqual([1, 1]);
  expect(owner.pop()).toMatchObject([{ payload: 2 }]);
});

it("an owner that sleeps remembers the keys of what had been consumed", () => {
  const owner = new Restarts();
  push(owner, ["1"], "k");
  owner.pop({ autoAck: true });
  expect(owner.sleep(59_000)).toBe(true);
  expect(push(owner, ["1"], "k")).toBe(1);
  expect(owner.pop()).toEqual([]);
  expect(owner.sleep(1000)).toBe(true);
  owner.engine.advance(owner.now);
  expect(push(owner, ["1"], "k")).toBe(1);
  expect(owner.pop()).toHaveLength(1);
});

it("a checkpoint holds the youngest keys of a busy owner", () => {
  const owner = new Restarts({ queueMaxLength: 20_000 });
  const last = MAX_WRITTEN_KEYS;
  for (let n = 0; n <= last; n++) push(owner, ["1"], "k", "q", `p${n % 7}-${n}`);
  owner.checkpoint();
  owner.restart();
  const known = [0, 1, last].map((n) => owner.engine.pushedWith("q", `p${n % 7}-${n}`, "k"));
  expect(known).toEqual([null, 1, 1]);
});

it("a partition that moves takes its keys along", () => {
  const from = new Bench();
  push(from, ["1", "2"], "k");
  const ring = from.engine.queues.get("q")?.rings.get("p");
  if (ring === undefined) throw new Error("no such partition");
  const to = new Bench();
  to.at(1);
  push(to, ["3"], "l");
  to.engine.adopt("q", exportRing(ring));
  expect([push(to, ["1", "2"], "k"), push(to, ["3"], "l")]).toEqual([2, 1]);
  expect(to.length()).toBe(3);
});
