import { describe, expect, it } from "vitest";
import { COST } from "../../src/engine/context.ts";
import { Bench, codeOf } from "./harness.ts";

describe("memory", () => {
  it("is what there is, by the measure of COST", () => {
    const bench = new Bench();
    bench.push(["abc"]);
    bench.push(["€"]);
    // Five characters of one byte each, and three of two.
    const messages = 2 * COST.message + 5 + 6;
    expect(bench.engine.memoryBytes).toBe(COST.queue + COST.ring + messages);
    bench.pop({ batch: 2, autoAck: true });
    bench.park();
    expect(bench.engine.memoryBytes).toBe(COST.queue + COST.ring + COST.group + COST.cursor + COST.waiter);
    bench.engine.cancel("w1");
    bench.engine.remove("q");
    expect(bench.engine.memoryBytes).toBe(0);
  });

  it("refuses a push beyond the cap, whole, and creates nothing", () => {
    const bench = new Bench();
    bench.roomBytes = COST.queue + COST.ring + COST.message;
    expect(bench.push(["a"])).toBe("ephemeral_unavailable");
    expect(bench.engine.queues.size).toBe(0);
    expect(bench.engine.memoryBytes).toBe(0);
    bench.roomBytes += 3;
    expect(bench.push(["a"])).toBeNull();
    expect(bench.push(["b"])).toBe("ephemeral_unavailable");
    expect(bench.push(["b"], { partition: "p2" })).toBe("ephemeral_unavailable");
    expect(bench.partitions()).toEqual({ p: 1 });
  });

  it("refuses a pop that would have to create what there is no room for, and creates nothing", () => {
    const bench = new Bench();
    bench.roomBytes = COST.queue + COST.ring + COST.group + COST.cursor - 1;
    expect(codeOf(bench.request())).toBe("ephemeral_unavailable");
    expect(bench.engine.queues.size).toBe(0);
    bench.roomBytes += 1;
    expect(bench.pop()).toEqual([]);
    expect(codeOf(bench.request({ group: "g" }))).toBe("ephemeral_unavailable");
    expect(codeOf(bench.request({ partition: "p2" }))).toBe("ephemeral_unavailable");
    expect(codeOf(bench.request({ waitMs: 1000 }))).toBe("ephemeral_unavailable");
    expect(codeOf(bench.engine.addGroup("q", "g"))).toBe("ephemeral_unavailable");
    expect(bench.pop()).toEqual([]);
    expect(bench.engine.memoryBytes).toBe(bench.roomBytes);
  });

  it("has room for a push that evicts as much as it brings", () => {
    const bench = new Bench();
    bench.engine.configure("q", { maxLength: 2, policy: "dropOldest" });
    bench.push([1, 2]);
    bench.roomBytes = bench.engine.memoryBytes;
    expect(bench.push([3])).toBeNull();
    expect(bench.push([44])).toBe("ephemeral_unavailable");
    expect(bench.length()).toBe(2);
    expect(bench.drops()?.bounds).toBe(1);
  });

  it("reclaims spent inboxes before it refuses, oldest first, and no others", () => {
    const bench = new Bench();
    bench.engine.configure("declared", {});
    bench.push(["kept"], { queue: "full" });
    bench.park({ queue: "waited on", waiterId: "w" });
    bench.pop({ queue: "spent" });
    bench.at(6);
    bench.pop({ queue: "just used" });
    bench.roomBytes = bench.engine.memoryBytes;
    expect(bench.push(["a"], { queue: "new" })).toBeNull();
    expect([...bench.engine.queues.keys()]).toEqual(["declared", "full", "waited on", "just used", "new"]);
    expect(bench.effects.collected).toEqual(["spent"]);
    expect(bench.engine.memoryBytes).toBeLessThanOrEqual(bench.roomBytes);
  });

  it("does not turn a burst of one-shot inboxes away", () => {
    const bench = new Bench();
    bench.roomBytes = 1_000_000;
    for (let i = 0; i < 5000; i++) {
      bench.at(i / 10);
      const queue = `inbox ${i}`;
      expect(bench.push(["answer"], { queue })).toBeNull();
      bench.pop({ queue, autoAck: true });
    }
    expect(bench.engine.memoryBytes).toBeLessThanOrEqual(1_000_000);
  });
});
