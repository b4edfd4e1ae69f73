import { describe, expect, it } from "vitest";
import { Bench, payloads } from "./harness.ts";

describe("pops of any partition", () => {
  it("take turns, so that a full partition does not starve the others", () => {
    const bench = new Bench();
    bench.push(
      Array.from({ length: 100 }, (_, i) => i),
      { partition: "busy" },
    );
    bench.push(["a"], { partition: "quiet" });
    bench.push(["b"], { partition: "quieter" });
    const first = [1, 2, 3].map(() => bench.popOne({ partition: null }).partition);
    expect(first.sort()).toEqual(["busy", "quiet", "quieter"]);
    expect(bench.popOne({ partition: null }).payload).toBe(1);
  });

  it("are fair over many turns", () => {
    const bench = new Bench();
    const partitions = ["p0", "p1", "p2", "p3"];
    for (const partition of partitions)
      bench.push(
        Array.from({ length: 50 }, (_, i) => i),
        { partition },
      );
    const counts = new Map<string, number>();
    for (let i = 0; i < 100; i++) {
      const { partition } = bench.popOne({ partition: null });
      counts.set(partition, (counts.get(partition) ?? 0) + 1);
    }
    expect([...counts.values()]).toEqual([25, 25, 25, 25]);
  });

  it("fill their batch from as many partitions as it takes, in order within each", () => {
    const bench = new Bench();
    bench.push([1, 2], { partition: "p1" });
    bench.push([3, 4, 5], { partition: "p2" });
    bench.push([6], { partition: "p3" });
    const got = bench.pop({ partition: null, batch: 5 });
    expect(got).toHaveLength(5);
    for (const partition of ["p1", "p2", "p3"]) {
      const mine = payloads(got.filter((message) => message.partition === partition));
      expect(mine).toEqual([...mine].sort());
    }
    expect(bench.pop({ partition: null, batch: 5 })).toHaveLength(1);
    expect(bench.pop({ partition: null, batch: 5 })).toEqual([]);
  });

  it("see partitions that had been emptied, as soon as they have something again", () => {
    const bench = new Bench();
    bench.push([1], { partition: "p1" });
    expect(bench.popOne({ partition: null }).payload).toBe(1);
    bench.push([2], { partition: "p1" });
    bench.push([3], { partition: "p2" });
    bench.pop({ partition: "p1", autoAck: true });
    expect(payloads(bench.pop({ partition: null, batch: 9 }))).toEqual([3]);
    bench.engine.reset("q");
    bench.push([4], { partition: "p2" });
    expect(payloads(bench.pop({ partition: null, batch: 9 }))).toEqual([4]);
  });

  it("turn for each group on its own", () => {
    const bench = new Bench();
    bench.push([1, 2], { partition: "p1" });
    bench.push([3, 4], { partition: "p2" });
    for (const group of ["g1", "g2"]) {
      const got = [1, 2, 3, 4].map(() => bench.popOne({ group, partition: null }).payload);
      expect(got).toEqual([1, 3, 2, 4]);
    }
  });
});
