import { describe, expect, it } from "vitest";
import { Bench, payloads } from "./harness.ts";

describe("bounds", () => {
  it("refuse a batch that does not fit whole", () => {
    const bench = new Bench();
    bench.engine.configure("q", { maxLength: 3 });
    expect(bench.push([1, 2])).toBeNull();
    expect(bench.push([3, 4])).toBe("queue_full");
    expect(bench.length()).toBe(2);
    expect(bench.push([3])).toBeNull();
  });

  it("are over all partitions, leased messages included", () => {
    const bench = new Bench();
    bench.engine.configure("q", { maxLength: 2 });
    bench.push([1], { partition: "p1" });
    bench.push([2], { partition: "p2" });
    const { id } = bench.popOne({ partition: "p1" });
    expect(bench.push([3], { partition: "p3" })).toBe("queue_full");
    expect(bench.partitions()).toEqual({ p1: 1, p2: 1 });
    bench.ack(id);
    expect(bench.push([3], { partition: "p3" })).toBeNull();
  });

  it("count bytes of UTF-8 of the payload's own text", () => {
    const bench = new Bench();
    bench.engine.configure("q", { maxBytes: 10 });
    // Quotes and all: 3 + 5 bytes.
    expect(bench.push(["a", "€"])).toBeNull();
    expect(bench.engine.queues.get("q")?.bytes).toBe(8);
    expect(bench.push(["a"])).toBe("queue_full");
    expect(bench.push([10])).toBeNull();
    expect(bench.push([1])).toBe("queue_full");
  });

  it("evict the oldest of the target partition under dropOldest, leased ones too", () => {
    const bench = new Bench();
    bench.engine.configure("q", { maxLength: 4, policy: "dropOldest" });
    bench.push(["other"], { partition: "p0" });
    bench.push([1, 2, 3]);
    const leased = bench.popOne();
    expect(bench.push([4, 5])).toBeNull();
    expect(bench.partitions()).toEqual({ p0: 1, p: 3 });
    expect(bench.ack(leased.id)).toBe("unknown");
    expect(payloads(bench.pop({ batch: 9 }))).toEqual([3, 4, 5]);
    expect(bench.drops()?.bounds).toBe(2);
  });

  it("refuse a batch that can never fit before anything is evicted", () => {
    const bench = new Bench();
    bench.engine.configure("q", { maxLength: 3, maxBytes: 20, policy: "dropOldest" });
    bench.push(["other"], { partition: "p0" });
    bench.push([1, 2]);
    expect(bench.push([1, 2, 3])).toBe("queue_full");
    expect(bench.push(["as long as it can never be"])).toBe("queue_full");
    expect(bench.push(["fits the queue, but for p0"])).toBe("queue_full");
    expect(bench.length()).toBe(3);
    expect(bench.drops()?.bounds).toBe(0);
  });

  it("create nothing when they refuse", () => {
    const bench = new Bench({ queueMaxLength: 1 });
    expect(bench.push([1, 2])).toBe("queue_full");
    expect(bench.engine.queues.size).toBe(0);
    expect(bench.engine.memoryBytes).toBe(0);
  });

  it("evict nothing by becoming smaller", () => {
    const bench = new Bench();
    bench.push([1, 2, 3]);
    bench.engine.configure("q", { maxLength: 1, policy: "dropOldest" });
    expect(bench.length()).toBe(3);
    bench.push([4]);
    expect(payloads(bench.pop({ batch: 9 }))).toEqual([4]);
  });

  it("take an empty push for nothing at all", () => {
    const bench = new Bench();
    expect(bench.push([])).toBeNull();
    expect(bench.engine.queues.size).toBe(0);
  });

  it("count what a group was not handed as skipped, and nothing else", () => {
    const bench = new Bench();
    bench.engine.configure("q", { maxLength: 2, policy: "dropOldest" });
    bench.pop({ group: "slow" });
    bench.pop({ group: "fast" });
    bench.push([1, 2]);
    bench.pop({ group: "fast", batch: 2 });
    bench.push([3, 4]);
    expect(bench.depth("slow")).toEqual({ pending: 2, skipped: 2 });
    expect(bench.depth("fast")).toEqual({ pending: 2, skipped: 0 });
  });
});
