import { describe, expect, it } from "vitest";
import { Bench } from "./harness.ts";

describe("an idle implicit queue", () => {
  it("is collected once empty and untouched for long enough, and costs nothing from then on", () => {
    const bench = new Bench();
    bench.push(["a"]);
    bench.pop({ autoAck: true });
    bench.at(299.999);
    expect(bench.engine.queues.has("q")).toBe(true);
    bench.at(300);
    expect(bench.effects.collected).toEqual(["q"]);
    expect(bench.engine.memoryBytes).toBe(0);
    expect(bench.engine.nextDueAt).toBe(Infinity);
  });

  it("is kept while it holds a message", () => {
    const bench = new Bench({ groupIdleSeconds: 0 });
    bench.push(["a"]);
    bench.at(10_000);
    expect(bench.length()).toBe(1);
    bench.pop({ autoAck: true });
    bench.at(10_299);
    expect(bench.length()).toBe(0);
    bench.at(10_300);
    expect(bench.length()).toBeNull();
  });

  it("is kept while a pop is parked on it, and for its time after that", () => {
    const bench = new Bench({ groupIdleSeconds: 0 });
    bench.at(100);
    bench.park({ waitMs: 250_000 });
    bench.at(649);
    expect(bench.length()).toBe(0);
    bench.at(650);
    expect(bench.length()).toBeNull();
  });

  it("is not one that was declared", () => {
    const bench = new Bench();
    bench.push(["a"]);
    bench.engine.configure("q", {});
    bench.pop({ autoAck: true });
    bench.at(1_000_000);
    expect(bench.length()).toBe(0);
  });

  it("can be one that lost its declaration by being deleted", () => {
    const bench = new Bench();
    bench.engine.configure("q", {});
    expect(bench.engine.remove("q")).toBe(true);
    expect(bench.engine.remove("q")).toBe(false);
    bench.pop();
    bench.at(300);
    expect(bench.engine.queues.size).toBe(0);
  });
});

describe("an idle partition", () => {
  it("goes when it is empty and not the only one, on a declared queue too", () => {
    const bench = new Bench();
    bench.engine.configure("q", {});
    for (const partition of ["p1", "p2", "p3"]) bench.push(["a"], { partition });
    bench.pop({ partition: "p1", autoAck: true });
    bench.pop({ partition: "p2", autoAck: true });
    bench.at(300);
    expect(bench.partitions()).toEqual({ p3: 1 });
  });

  it("goes in its time on a queue whose messages may get far older than that", () => {
    const bench = new Bench();
    bench.engine.configure("q", { ttlSeconds: 86_400 });
    bench.push(["a"], { partition: "spent" });
    bench.push(["b"], { partition: "other" });
    bench.at(400);
    bench.pop({ partition: "spent", autoAck: true });
    bench.at(700);
    expect(bench.partitions()).toEqual({ other: 1 });
  });

  it("stays as the only one", () => {
    const bench = new Bench();
    bench.engine.configure("q", {});
    bench.pop({ partition: "p1" });
    bench.at(10_000);
    expect(bench.partitions()).toEqual({ p1: 0 });
  });

  it("stays while a pop is parked on it", () => {
    const bench = new Bench();
    bench.push(["a"], { partition: "other" });
    bench.park({ partition: "p", waiterId: "w", waitMs: 300_000 });
    bench.at(299);
    bench.park({ partition: "p", waiterId: "v", waitMs: 300_000 });
    bench.at(500);
    bench.push(["b"]);
    expect(bench.answer("v")).toEqual(["b"]);
  });

  it("takes no count of skipped messages along", () => {
    const bench = new Bench();
    bench.engine.configure("q", { ttlSeconds: 10 });
    bench.pop({ group: "g", partition: "p1" });
    bench.push(["a"], { partition: "p1" });
    bench.push(["b"], { partition: "p2" });
    bench.at(10);
    expect(bench.depth("g")).toEqual({ pending: 0, skipped: 2 });
    bench.at(400);
    expect(Object.keys(bench.partitions())).toHaveLength(1);
    expect(bench.depth("g")).toEqual({ pending: 0, skipped: 2 });
  });
});
