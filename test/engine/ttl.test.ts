import { describe, expect, it } from "vitest";
import { Bench, payloads } from "./harness.ts";

function aged(ttlSeconds = 10): Bench {
  const bench = new Bench();
  bench.engine.configure("q", { ttlSeconds });
  return bench;
}

describe("the age limit", () => {
  it("drops a message at its age and counts it, the younger ones at theirs", () => {
    const bench = aged();
    bench.push(["a"]);
    bench.at(4);
    bench.push(["b"]);
    bench.at(9.999);
    expect(bench.length()).toBe(2);
    bench.at(10);
    expect(bench.length()).toBe(1);
    expect(payloads(bench.pop({ batch: 9 }))).toEqual(["b"]);
    bench.at(14);
    expect(bench.length()).toBe(0);
    expect(bench.drops()).toEqual({ bounds: 0, ttl: 2, retry: 0 });
  });

  it("drops leased messages, whose late ack is unknown", () => {
    const bench = aged();
    bench.push(["a"]);
    const { id } = bench.popOne();
    bench.at(10);
    expect(bench.length()).toBe(0);
    expect(bench.ack(id)).toBe("unknown");
  });

  it("drops messages that wait to be handed over again", () => {
    const bench = aged();
    bench.push(["a"]);
    bench.ack(bench.popOne().id, "retry");
    bench.at(10);
    expect(bench.pop()).toEqual([]);
    expect(bench.depth()?.pending).toBe(0);
  });

  it("applies to what is there already when it is configured, and no more when it is taken off", () => {
    const bench = new Bench();
    bench.push(["a"]);
    bench.at(20);
    bench.engine.configure("q", { ttlSeconds: 30 });
    expect(bench.engine.nextDueAt).toBe(30_000);
    bench.engine.configure("q", { ttlSeconds: 0 });
    bench.at(100);
    expect(bench.length()).toBe(1);
    bench.engine.configure("q", { ttlSeconds: 30 });
    bench.at(100);
    expect(bench.length()).toBe(0);
  });

  it("arms one look per partition, not one per message", () => {
    const bench = aged();
    for (let i = 0; i < 100; i++) {
      bench.at(i / 100);
      bench.push([i]);
    }
    bench.engine.advance(10_000);
    expect(bench.length()).toBe(99);
    bench.engine.advance(20_000);
    expect(bench.length()).toBe(0);
  });

  it("is skipped for groups that had not been handed the message", () => {
    const bench = aged();
    bench.pop({ group: "g" });
    bench.push(["a"]);
    bench.at(10);
    expect(bench.depth("g")).toEqual({ pending: 0, skipped: 1 });
  });
});
