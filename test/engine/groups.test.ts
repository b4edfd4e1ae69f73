import { describe, expect, it } from "vitest";
import { MAX_GROUPS } from "../../src/contract/limits.ts";
import { Bench, codeOf, payloads } from "./harness.ts";

describe("groups", () => {
  it("start at the oldest message still held, in every partition", () => {
    const bench = new Bench();
    bench.push([1, 2], { partition: "p1" });
    bench.push([3], { partition: "p2" });
    bench.pop({ group: "early", partition: null, batch: 9, autoAck: true });
    // Nobody else is there: what the only group has settled is gone.
    expect(bench.length()).toBe(0);
    bench.push([4, 5], { partition: "p1" });
    expect(payloads(bench.pop({ group: "late", partition: null, batch: 9 }))).toEqual([4, 5]);
  });

  it("each get everything, and a message goes when the last has settled it", () => {
    const bench = new Bench();
    bench.pop({ group: "g1" });
    bench.pop({ group: "g2" });
    bench.push(["a"]);
    const a1 = bench.popOne({ group: "g1" });
    bench.ack(a1.id, "completed", { group: "g1" });
    expect(bench.length()).toBe(1);
    const a2 = bench.popOne({ group: "g2" });
    expect(a2.id).toBe(a1.id);
    expect(bench.length()).toBe(1);
    bench.ack(a2.id, "completed", { group: "g2" });
    expect(bench.length()).toBe(0);
  });

  it("have a cursor in partitions that come later, from an empty pop on", () => {
    const bench = new Bench();
    expect(bench.pop({ group: "g1", partition: null })).toEqual([]);
    bench.push(["a"], { partition: "later" });
    bench.pop({ group: "g2", partition: "later", autoAck: true });
    expect(bench.partitions("g1")).toEqual({ later: 1 });
    expect(bench.length()).toBe(1);
  });

  it("of which there are none keep everything", () => {
    const bench = new Bench();
    bench.push([1, 2, 3]);
    expect(bench.length()).toBe(3);
    expect(bench.partitions()).toEqual({ p: 3 });
  });

  it("that are dropped free what only they still needed", () => {
    const bench = new Bench();
    bench.pop({ group: "gone" });
    bench.pop({ group: "here" });
    bench.push([1, 2, 3]);
    bench.pop({ group: "gone" });
    bench.pop({ group: "here", batch: 2, autoAck: true });
    expect(bench.length()).toBe(3);
    expect(bench.engine.dropGroup("q", "gone")).toBe(true);
    expect(bench.length()).toBe(1);
    expect(bench.engine.dropGroup("q", "gone")).toBe(false);
    expect(bench.engine.dropGroup("nobody", "gone")).toBe(false);
  });

  it("keep their messages for the next one when the last is dropped", () => {
    const bench = new Bench();
    bench.pop({ group: "gone" });
    bench.push([1, 2]);
    bench.popOne({ group: "gone" });
    bench.engine.dropGroup("q", "gone");
    expect(payloads(bench.pop({ group: "next", batch: 9 }))).toEqual([1, 2]);
  });

  it("that come back after being dropped start anew, with their parked pops", () => {
    const bench = new Bench();
    bench.pop({ group: "other" });
    bench.push(["a"]);
    const { id } = bench.popOne({ group: "g" });
    bench.park({ group: "g", waiterId: "w" });
    bench.engine.dropGroup("q", "g");
    expect(bench.answer("w")).toEqual(["a"]);
    expect(bench.ack(id, "completed", { group: "g", attempts: 1 })).toBe("acked");
  });

  it("number 4,096 a queue; one more is refused and forgets nobody", () => {
    const bench = new Bench();
    for (let i = 0; i < MAX_GROUPS; i++) bench.pop({ group: `g${i}`, partition: null });
    expect(codeOf(bench.request({ group: "one more", partition: null }))).toBe("too_many_groups");
    expect(codeOf(bench.request({ group: "one more", partition: "new" }))).toBe("too_many_groups");
    expect(codeOf(bench.engine.addGroup("q", "one more"))).toBe("too_many_groups");
    expect(bench.engine.queues.get("q")?.groups.size).toBe(MAX_GROUPS);
    expect(bench.engine.queues.get("q")?.rings.size).toBe(0);
    expect(bench.pop({ group: "g0", partition: null })).toEqual([]);
    bench.engine.dropGroup("q", "g1");
    expect(bench.pop({ group: "one more", partition: null })).toEqual([]);
  });
});

describe("reset", () => {
  it("drops messages, leases, attempts and redeliveries, and keeps groups, partitions and options", () => {
    const bench = new Bench();
    bench.engine.configure("q", { retryLimit: 9 });
    bench.push([1, 2], { partition: "p1" });
    bench.push([3], { partition: "p2" });
    const { id } = bench.popOne({ partition: "p1" });
    bench.ack(id, "retry");
    expect(bench.engine.reset("q")).toBe(3);
    expect(bench.engine.queues.get("q")?.bytes).toBe(0);
    expect(bench.partitions("__QUEUE_MODE__")).toEqual({ p1: 0, p2: 0 });
    expect(bench.depth()).toEqual({ pending: 0, skipped: 0 });
    expect(bench.engine.queues.get("q")?.options.retryLimit).toBe(9);
    bench.push([4], { partition: "p1" });
    expect(bench.popOne({ partition: "p1" })).toMatchObject({ payload: 4, attempts: 1 });
    expect(bench.engine.reset("nobody")).toBe(0);
  });
});
