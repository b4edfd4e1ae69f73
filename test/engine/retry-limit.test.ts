import { describe, expect, it } from "vitest";
import { Bench } from "./harness.ts";

describe("the retry limit", () => {
  it("gives a message up after that many deliveries, and counts it", () => {
    const bench = new Bench();
    bench.push(["a"]);
    for (let attempts = 1; attempts < 5; attempts++) {
      const message = bench.popOne();
      expect(message.attempts).toBe(attempts);
      expect(bench.ack(message.id, attempts % 2 === 0 ? "retry" : "failed")).toBe("redelivered");
    }
    const last = bench.popOne();
    expect(last.attempts).toBe(5);
    expect(bench.ack(last.id, "retry")).toBe("acked");
    expect(bench.pop()).toEqual([]);
    expect(bench.length()).toBe(0);
    expect(bench.drops()).toEqual({ bounds: 0, ttl: 0, retry: 1 });
  });

  it("counts expired leases as deliveries", () => {
    const bench = new Bench({ retryLimit: 2 });
    bench.push(["a"]);
    bench.popOne();
    bench.at(30);
    expect(bench.popOne().attempts).toBe(2);
    bench.at(60);
    expect(bench.pop()).toEqual([]);
    expect(bench.drops()?.retry).toBe(1);
  });

  it.each([0, 1])("of %i is a single delivery", (retryLimit) => {
    const bench = new Bench();
    bench.engine.configure("q", { retryLimit });
    bench.push(["a"]);
    expect(bench.ack(bench.popOne().id, "failed")).toBe("acked");
    expect(bench.length()).toBe(0);
  });

  it("is counted per group: one gives up while another still has its attempts", () => {
    const bench = new Bench({ retryLimit: 2 });
    bench.pop({ group: "g1" });
    bench.pop({ group: "g2" });
    bench.push(["a"]);
    for (let i = 0; i < 2; i++) bench.ack(bench.popOne({ group: "g1" }).id, "failed", { group: "g1" });
    expect(bench.pop({ group: "g1" })).toEqual([]);
    expect(bench.length()).toBe(1);
    expect(bench.popOne({ group: "g2" }).attempts).toBe(1);
  });

  it("does not count deliveries that never arrived", () => {
    const bench = new Bench({ retryLimit: 1 });
    bench.push(["a"]);
    for (let i = 0; i < 3; i++) {
      const batch = bench.request();
      if (batch === null || "code" in batch) throw new Error("not answered");
      bench.engine.release("q", "__QUEUE_MODE__", batch.handed);
    }
    expect(bench.popOne().attempts).toBe(1);
    expect(bench.drops()?.retry).toBe(0);
  });
});
