import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Bench } from "./harness.ts";

/** One partition, some groups; each step pushes, evicts by pushing over the bound, pops, joins, leaves or resets. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ push: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 6, arbitrary: fc.record({ group: fc.nat(5), batch: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ leave: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.constant({ reset: true as const }) },
);

describe("positions", () => {
  it("count what each group has before it, and what it was never handed", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
        const bench = new Bench();
        bench.engine.configure("q", { maxLength: 12, policy: "dropOldest" });
        // A group that takes nothing, so that only evictions move the head.
        bench.pop({ group: "slow", batch: 0 });
        const pending = new Map<string, number[]>([["slow", []]]);
        const skipped = new Map<string, number>([["slow", 0]]);
        let held: number[] = [];
        let pushed = 0;
        for (const next of steps) {
          if ("push" in next) {
            const batch = Array.from({ length: next.push }, () => pushed++);
            bench.push(batch);
            const evicted = new Set(held.slice(0, Math.max(0, held.length + batch.length - 12)));
            held = [...held, ...batch].slice(-12);
            for (const [group, mine] of pending) {
              const lost = mine.filter((n) => evicted.has(n)).length;
              skipped.set(group, (skipped.get(group) ?? 0) + lost);
              pending.set(group, [...mine.filter((n) => !evicted.has(n)), ...batch]);
            }
          } else if ("batch" in next) {
            const group = `g${next.group}`;
            const mine = pending.get(group) ?? [...held];
            const got = bench.pop({ group, batch: next.batch, autoAck: true });
            expect(got.map(({ payload }) => payload)).toEqual(mine.slice(0, next.batch));
            pending.set(group, mine.slice(next.batch));
            if (!skipped.has(group)) skipped.set(group, 0);
          } else if ("leave" in next) {
            const group = `g${next.leave}`;
            expect(bench.engine.dropGroup("q", group)).toBe(pending.delete(group));
            skipped.delete(group);
          } else {
            expect(bench.engine.reset("q")).toBe(held.length);
            held = [];
            for (const group of pending.keys()) pending.set(group, []);
          }
          for (const [group, mine] of pending) {
            expect(bench.depth(group)).toEqual({ pending: mine.length, skipped: skipped.get(group) });
          }
          expect(bench.length()).toBe(held.length);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("keep up with many groups that stand together when the log is cut under them", () => {
    const bench = new Bench();
    bench.engine.configure("q", { maxLength: 2, policy: "dropOldest" });
    for (let i = 0; i < 1000; i++) bench.pop({ group: `g${i}` });
    for (let n = 0; n < 10; n++) bench.push([n]);
    for (let i = 0; i < 1000; i++) expect(bench.depth(`g${i}`)).toEqual({ pending: 2, skipped: 8 });
    bench.pop({ group: "g7", batch: 2 });
    bench.push([10]);
    expect(bench.depth("g7")).toEqual({ pending: 1, skipped: 8 });
    expect(bench.depth("g8")).toEqual({ pending: 2, skipped: 9 });
  });
});
