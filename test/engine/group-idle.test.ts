import { describe, expect, it } from "vitest";
import { Bench, payloads } from "./harness.ts";

describe("a cursor whose group has gone", () => {
  it("is dropped after its idle time, logged and counted with what it was owed", () => {
    const bench = new Bench();
    bench.pop({ group: "gone" });
    bench.at(100);
    bench.pop({ group: "here" });
    bench.push([1, 2]);
    bench.pop({ group: "here", batch: 2, autoAck: true });
    bench.at(299.999);
    expect(bench.length()).toBe(2);
    bench.at(300);
    expect(bench.length()).toBe(0);
    expect(bench.engine.counters.groupIdleOwed).toBe(2);
    expect(bench.effects.logged).toEqual([
      { event: "group_idle", details: { queue: "q", partition: "p", group: "gone", owed: 2 } },
    ]);
    expect(bench.effects.forgotten).toEqual(["gone"]);
  });

  it("goes unlogged when it was owed nothing", () => {
    const bench = new Bench();
    bench.engine.configure("q", { groupIdleSeconds: 300 });
    bench.pop({ group: "gone" });
    bench.at(300);
    expect(bench.depth("gone")).toBeNull();
    expect(bench.effects.logged).toEqual([]);
  });

  it("is judged by partition: a group that reads a single room lets the others go", () => {
    const bench = new Bench();
    bench.pop({ group: "g", partition: "room" });
    bench.push(["a"], { partition: "lobby" });
    bench.push(["b"], { partition: "room" });
    bench.at(200);
    bench.pop({ group: "g", partition: "room", batch: 0 });
    bench.at(300);
    bench.pop({ group: "other", partition: null, batch: 9, autoAck: true });
    expect(bench.partitions()).toEqual({ lobby: 0, room: 1 });
  });

  it("is used by pops of any partition, and by being parked on either", () => {
    const bench = new Bench();
    bench.pop({ group: "any", partition: "p" });
    bench.pop({ group: "parked", partition: "p" });
    bench.park({ group: "parked", partition: "p", waitMs: 300_000 });
    for (let at = 200; at <= 1000; at += 200) {
      bench.at(at);
      bench.pop({ group: "any", partition: null });
    }
    expect(bench.depth("any")).not.toBeNull();
    // Its pop ended at 300, and that is what counts.
    bench.at(599.999);
    bench.at(600);
    expect(bench.depth("parked")).toBeNull();
  });

  it("stays while a lease is held, and goes with the last one", () => {
    const bench = new Bench();
    bench.engine.configure("q", { groupIdleSeconds: 10, leaseSeconds: 60 });
    bench.push([1]);
    bench.popOne({ group: "g" });
    bench.at(59.999);
    expect(bench.depth("g")).toEqual({ pending: 0, skipped: 0 });
    bench.at(60);
    expect(bench.depth("g")).toBeNull();
    expect(bench.engine.counters.groupIdleOwed).toBe(1);
  });

  it("comes back with the next pop of that partition alone, at the oldest message held", () => {
    const bench = new Bench();
    bench.engine.configure("q", { groupIdleSeconds: 10 });
    bench.push([1], { partition: "p1" });
    bench.push([2], { partition: "p2" });
    bench.pop({ group: "g", partition: "p1" });
    bench.at(9);
    bench.pop({ group: "g", partition: "p1" });
    bench.at(11);
    expect(bench.engine.queues.get("q")?.rings.get("p2")?.cursors.has("g")).toBe(false);
    // Once this was taken for a pop of any partition.
    bench.push([3], { partition: "p1" });
    expect(payloads(bench.pop({ group: "g", partition: "p2", batch: 9 }))).toEqual([2]);
    expect(payloads(bench.pop({ group: "g", partition: "p1", batch: 9 }))).toEqual([3]);
  });

  it("comes back with the next pop of any partition, everywhere", () => {
    const bench = new Bench();
    bench.engine.configure("q", { groupIdleSeconds: 10 });
    bench.push([1], { partition: "p1" });
    bench.push([2], { partition: "p2" });
    bench.pop({ group: "g", partition: "p1", autoAck: true });
    bench.at(9);
    bench.pop({ group: "g", partition: "p1" });
    bench.at(11);
    expect(payloads(bench.pop({ group: "g", partition: null, batch: 9 }))).toEqual([2]);
    bench.push([3], { partition: "p2" });
    expect(bench.depth("g")?.pending).toBe(1);
  });

  it("leaves what it held to the next group when it was the last", () => {
    const bench = new Bench();
    bench.engine.configure("q", { groupIdleSeconds: 10 });
    bench.push([1, 2]);
    bench.pop({ group: "g", autoAck: true });
    bench.at(10);
    expect(bench.depth("g")).toBeNull();
    expect(payloads(bench.pop({ group: "next", batch: 9 }))).toEqual([2]);
  });

  it("is kept for an hour on a declared queue, and for ever with 0", () => {
    const bench = new Bench();
    bench.engine.configure("q", {});
    bench.engine.configure("forever", { groupIdleSeconds: 0 });
    bench.pop({ group: "g" });
    bench.pop({ group: "g", queue: "forever" });
    bench.at(3599);
    expect(bench.depth("g")).not.toBeNull();
    bench.at(3600);
    expect(bench.depth("g")).toBeNull();
    bench.at(1_000_000);
    expect(bench.depth("g", "forever")).not.toBeNull();
  });
});
