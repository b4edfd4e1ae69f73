import { describe, expect, it } from "vitest";
import { Bench } from "./harness.ts";

describe("lease expiry", () => {
  it("gives a message back when its deadline is reached, under the same id", () => {
    const bench = new Bench();
    bench.push(["a"]);
    const first = bench.popOne();
    expect(first.attempts).toBe(1);
    bench.at(29.999);
    expect(bench.pop()).toEqual([]);
    bench.at(30);
    expect(bench.pop()).toEqual([{ ...first, attempts: 2 }]);
  });

  it("wakes a parked pop at once", () => {
    const bench = new Bench();
    bench.push(["a"]);
    bench.popOne();
    bench.park({ waiterId: "w", waitMs: 60_000 });
    expect(bench.engine.nextDueAt).toBe(30_000);
    bench.at(30);
    expect(bench.answer("w")).toEqual(["a"]);
  });

  it("hands what comes back together to one pop of any partition", () => {
    const bench = new Bench();
    bench.push(["a"], { partition: "p1" });
    bench.push(["b"], { partition: "p2" });
    expect(bench.pop({ partition: null, batch: 2 })).toHaveLength(2);
    bench.park({ waiterId: "w", partition: null, batch: 2, waitMs: 60_000 });
    bench.at(30);
    expect(bench.answer("w")?.sort()).toEqual(["a", "b"]);
  });

  it("comes before the end of a parked pop's time at the same instant", () => {
    const bench = new Bench();
    bench.push(["a"]);
    bench.popOne();
    bench.park({ waiterId: "w", waitMs: 30_000 });
    bench.at(30);
    expect(bench.answer("w")).toEqual(["a"]);
  });

  it("is fixed at delivery, whatever the queue is configured to later", () => {
    const bench = new Bench();
    bench.push(["a"]);
    bench.popOne();
    bench.engine.configure("q", { leaseSeconds: 1 });
    bench.at(29.999);
    expect(bench.pop()).toEqual([]);
    bench.at(30);
    expect(bench.popOne().attempts).toBe(2);
    bench.at(31);
    expect(bench.popOne().attempts).toBe(3);
  });

  it("is judged by group: one group's lease holds nobody else up", () => {
    const bench = new Bench();
    bench.push(["a"]);
    const mine = bench.popOne({ group: "g1" });
    const other = bench.popOne({ group: "g2" });
    expect(other.id).toBe(mine.id);
    bench.ack(mine.id, "completed", { group: "g1" });
    bench.at(30);
    expect(bench.pop({ group: "g1" })).toEqual([]);
    expect(bench.popOne({ group: "g2" }).attempts).toBe(2);
  });

  it("happens with a late timer, too", () => {
    const bench = new Bench();
    bench.push(["a"]);
    bench.popOne();
    bench.engine.advance(45_000);
    expect(bench.popOne().attempts).toBe(2);
    expect(bench.engine.nextDueAt).toBe(75_000);
  });
});
