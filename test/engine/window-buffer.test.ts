import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Bench, delivered, payloads } from "./harness.ts";

function windowed(ms: number, count: number): Bench {
  const bench = new Bench();
  bench.engine.configure("q", { windowBuffer: { ms, count } });
  return bench;
}

describe("a window buffer", () => {
  it("answers when `ms` have passed since the first message in hand", () => {
    const bench = windowed(500, 0);
    bench.park({ waiterId: "w", batch: 10 });
    bench.at(1);
    bench.push([1]);
    bench.at(1.3);
    bench.push([2]);
    bench.at(1.499);
    expect(bench.answer("w")).toBeNull();
    bench.at(1.5);
    expect(bench.answer("w")).toEqual([1, 2]);
  });

  it("answers when `count` messages are in hand, with all of them", () => {
    const bench = windowed(0, 3);
    bench.park({ waiterId: "w", batch: 10 });
    bench.push([1, 2]);
    expect(bench.answer("w")).toBeNull();
    bench.push([3, 4]);
    expect(bench.answer("w")).toEqual([1, 2, 3, 4]);
  });

  it("answers when the batch is full", () => {
    const bench = windowed(500, 100);
    bench.park({ waiterId: "w", batch: 2 });
    bench.push([1]);
    expect(bench.answer("w")).toBeNull();
    bench.push([2, 3]);
    expect(bench.answer("w")).toEqual([1, 2]);
  });

  it("answers at the pop's own end at the latest, with what is there", () => {
    const bench = windowed(60_000, 0);
    bench.park({ waiterId: "w", batch: 10, waitMs: 1000 });
    bench.at(0.5);
    bench.push([1]);
    bench.at(1);
    expect(bench.answer("w")).toEqual([1]);
  });

  it("counts over all partitions for a pop of any", () => {
    const bench = windowed(0, 2);
    bench.park({ waiterId: "w", batch: 10, partition: null });
    bench.push([1], { partition: "p1" });
    expect(bench.answer("w")).toBeNull();
    bench.push([2], { partition: "p2" });
    expect(bench.answer("w")?.sort()).toEqual([1, 2]);
  });

  it("does not concern pops that do not wait", () => {
    const bench = windowed(500, 10);
    bench.push([1]);
    expect(payloads(bench.pop())).toEqual([1]);
  });

  it("starts anew when the message in hand went elsewhere", () => {
    const bench = windowed(500, 0);
    bench.park({ waiterId: "w", batch: 10 });
    bench.push([1]);
    bench.at(0.2);
    bench.pop();
    bench.at(0.4);
    bench.push([2]);
    bench.at(0.899);
    expect(bench.answer("w")).toBeNull();
    bench.at(0.9);
    expect(bench.answer("w")).toEqual([2]);
  });

  it("starts anew when a late ack took the message in hand", () => {
    const bench = windowed(500, 0);
    bench.push([1]);
    const { id } = bench.popOne();
    bench.park({ waiterId: "w", batch: 10, waitMs: 60_000 });
    bench.at(30.1);
    expect(bench.ack(id)).toBe("acked");
    bench.at(30.4);
    bench.push([2]);
    bench.at(30.899);
    expect(bench.answer("w")).toBeNull();
    bench.at(30.9);
    expect(bench.answer("w")).toEqual([2]);
  });

  it("starts anew when a pop behind it took the message in hand at the end of its time", () => {
    const bench = windowed(500, 0);
    bench.park({ waiterId: "first", batch: 10 });
    bench.park({ waiterId: "second", batch: 10, waitMs: 200 });
    bench.push([1]);
    bench.at(0.2);
    expect(bench.answer("second")).toEqual([1]);
    bench.at(0.4);
    bench.push([2]);
    bench.at(0.899);
    expect(bench.answer("first")).toBeNull();
    bench.at(0.9);
    expect(bench.answer("first")).toEqual([2]);
  });

  it("starts anew when the message in hand was evicted for the next one", () => {
    const bench = new Bench();
    bench.engine.configure("q", { windowBuffer: { ms: 500 }, maxLength: 1, policy: "dropOldest" });
    bench.park({ waiterId: "w", batch: 10 });
    bench.push([1]);
    bench.at(0.3);
    bench.push([2]);
    bench.at(0.799);
    expect(bench.answer("w")).toBeNull();
    bench.at(0.8);
    expect(bench.answer("w")).toEqual([2]);
  });

  it("serves the first come first when a window and a pop end together", () => {
    const bench = windowed(500, 0);
    bench.park({ waiterId: "first", batch: 10 });
    bench.park({ waiterId: "second", batch: 10, waitMs: 500 });
    bench.push([1]);
    bench.at(0.5);
    expect(bench.answer("first")).toEqual([1]);
    expect(bench.answer("second")).toEqual([]);
  });

  it("lets the next one in when the first is gone", () => {
    const bench = windowed(500, 0);
    bench.park({ waiterId: "first", batch: 10, partition: null });
    bench.park({ waiterId: "second", batch: 10, waitMs: 10_000 });
    bench.push([1]);
    bench.at(0.3);
    bench.engine.cancel("first");
    bench.at(0.8);
    expect(bench.answer("second")).toEqual([1]);
  });

  it("lets go of what it held back when it is configured away", () => {
    const bench = windowed(60_000, 0);
    bench.park({ waiterId: "w", batch: 10 });
    bench.push([1]);
    bench.engine.configure("q", {});
    expect(bench.answer("w")).toEqual([1]);
  });

  it("never keeps a pop beyond its time, and loses nothing, however parked pops are mixed", () => {
    const step = fc.oneof(
      fc.record({
        park: fc.constantFrom("p1", "p2", null),
        batch: fc.constantFrom(1, 2, 5),
        waitMs: fc.constantFrom(100, 700, 2500),
      }),
      fc.record({ push: fc.constantFrom("p1", "p2") }),
      fc.record({ take: fc.constantFrom("p1", "p2", null) }),
      fc.record({ ms: fc.constantFrom(1, 99, 100, 400, 1000) }),
      fc.record({ ack: fc.nat(5) }),
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40, size: "max" }),
        fc.constantFrom(0, 2, 3),
        fc.constantFrom(0, 300, 1000),
        (steps, count, ms) => {
          const bench = new Bench();
          bench.engine.configure("q", { windowBuffer: { ms, count }, leaseSeconds: 1, retryLimit: 1000 });
          const ends = new Map<string, number>();
          const popped: string[] = [];
          let now = 0;
          let pushed = 0;
          for (const next of steps) {
            if ("park" in next) {
              const waiterId = `parked${ends.size}`;
              const { park: partition, batch, waitMs } = next;
              if (bench.request({ partition, batch, waitMs, waiterId }) === null) ends.set(waiterId, now + waitMs);
            } else if ("push" in next) bench.push([pushed++], { partition: next.push });
            else if ("take" in next) popped.push(...bench.pop({ partition: next.take }).map(({ id }) => id));
            else if ("ack" in next) bench.ack(popped.at(-1 - next.ack) ?? "");
            else now += next.ms;
            bench.at(now / 1000);
            const answered = new Set(bench.effects.answers.map(({ waiterId }) => waiterId));
            for (const [id, end] of ends) expect(answered.has(id) || end > now).toBe(true);
            for (const { batch } of bench.effects.answers) popped.push(...delivered(batch).map(({ id }) => id));
          }
          // Whatever was not acked comes back, in the end, and nothing twice.
          const acked = bench.engine.counters.acked;
          bench.at(now / 1000 + 10);
          const rest = bench.pop({ partition: null, batch: 1000 });
          expect(rest.length + acked).toBe(pushed);
          expect(new Set(rest.map(({ id }) => id)).size).toBe(rest.length);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
