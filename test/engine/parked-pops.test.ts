import { describe, expect, it } from "vitest";
import { Bench, codeOf, delivered, payloads } from "./harness.ts";

describe("parked pops", () => {
  it("are served first come first served, whether they named a partition or not", () => {
    const bench = new Bench();
    bench.park({ waiterId: "w0", partition: "p" });
    bench.park({ waiterId: "w1", partition: null });
    bench.park({ waiterId: "w2", partition: "p" });
    bench.push(["a"]);
    bench.push(["b"]);
    bench.push(["c"]);
    expect(bench.effects.answers.map(({ waiterId }) => waiterId)).toEqual(["w0", "w1", "w2"]);
    expect(["w0", "w1", "w2"].map((id) => bench.answer(id))).toEqual([["a"], ["b"], ["c"]]);
  });

  it("are woken by what they asked for alone", () => {
    const bench = new Bench();
    bench.park({ waiterId: "other partition", partition: "p2" });
    bench.park({ waiterId: "other queue", queue: "q2" });
    bench.push(["a"]);
    expect(bench.effects.answers).toEqual([]);
  });

  it("each get a batch of what one push brought", () => {
    const bench = new Bench();
    bench.park({ waiterId: "w0", batch: 2 });
    bench.park({ waiterId: "w1", batch: 5 });
    bench.park({ waiterId: "w2" });
    bench.push([1, 2, 3]);
    expect(bench.answer("w0")).toEqual([1, 2]);
    expect(bench.answer("w1")).toEqual([3]);
    expect(bench.answer("w2")).toBeNull();
  });

  it("end empty when their time is over", () => {
    const bench = new Bench();
    bench.park({ waiterId: "w", waitMs: 1500 });
    bench.at(1.499);
    expect(bench.answer("w")).toBeNull();
    bench.at(1.5);
    expect(bench.answer("w")).toEqual([]);
    expect(bench.engine.parkedPops).toBe(0);
    bench.push(["a"]);
    expect(payloads(bench.pop())).toEqual(["a"]);
  });

  it("take nothing once cancelled", () => {
    const bench = new Bench();
    bench.park({ waiterId: "w0" });
    bench.park({ waiterId: "w1" });
    bench.engine.cancel("w0");
    bench.engine.cancel("w0");
    bench.engine.cancel("nobody");
    bench.push(["a"]);
    expect(bench.answer("w0")).toEqual([]);
    expect(bench.answer("w1")).toEqual(["a"]);
  });

  it("do not wait when there is something", () => {
    const bench = new Bench();
    bench.push(["a"]);
    expect(payloads(bench.pop({ waitMs: 30_000 }))).toEqual(["a"]);
    expect(bench.engine.parkedPops).toBe(0);
  });

  it("see the next push after the queue was deleted or reset", () => {
    const bench = new Bench();
    bench.park({ waiterId: "w0", partition: "p" });
    bench.park({ waiterId: "w1", partition: null, group: "g" });
    expect(bench.engine.remove("q")).toBe(true);
    bench.engine.reset("q");
    expect(bench.effects.answers).toEqual([]);
    bench.push(["a"]);
    expect(bench.answer("w0")).toEqual(["a"]);
    expect(bench.answer("w1")).toEqual(["a"]);
  });

  it("keep their time when the queue is deleted under them", () => {
    const bench = new Bench();
    bench.park({ waiterId: "w", waitMs: 2000 });
    bench.at(1);
    bench.engine.remove("q");
    bench.at(2);
    expect(bench.answer("w")).toEqual([]);
  });

  it("are woken by what another holder gives back", () => {
    const bench = new Bench();
    bench.push(["a"]);
    const { id } = bench.popOne();
    bench.park({ waiterId: "w" });
    bench.ack(id, "retry");
    expect(bench.answer("w")).toEqual(["a"]);
  });

  it("are refused beyond their number", () => {
    const bench = new Bench({ maxWaiters: 2 });
    bench.park();
    bench.park();
    expect(codeOf(bench.request({ waitMs: 1000 }))).toBe("ephemeral_unavailable");
    expect(bench.pop()).toEqual([]);
  });

  it.each([null, "p"])(
    "are 1,000 in one group: of 1,000 messages each gets exactly one (partition %j)",
    (partition) => {
      const bench = new Bench();
      for (let i = 0; i < 1000; i++) bench.park({ waiterId: `w${i}`, partition });
      for (let i = 0; i < 1000; i++) bench.push([i]);
      expect(bench.effects.answers.map(({ waiterId }) => waiterId)).toEqual(
        Array.from({ length: 1000 }, (_, i) => `w${i}`),
      );
      const got = bench.effects.answers.map(({ batch }) => payloads(delivered(batch)));
      expect(got).toEqual(Array.from({ length: 1000 }, (_, i) => [i]));
      expect(bench.engine.parkedPops).toBe(0);
    },
  );

  it("are 1,000 in one group: one push of 1,000 serves each with one", () => {
    const bench = new Bench();
    for (let i = 0; i < 1000; i++) bench.park({ waiterId: `w${i}`, partition: i % 2 === 0 ? null : "p" });
    bench.push(Array.from({ length: 1000 }, (_, i) => i));
    const got = bench.effects.answers.map(({ batch }) => payloads(delivered(batch)));
    expect(got).toEqual(Array.from({ length: 1000 }, (_, i) => [i]));
  });

  it.each([null, "p"])("are one in each of 1,000 groups: each gets all that is pushed (partition %j)", (partition) => {
    const bench = new Bench();
    const count = 20;
    const got = new Map<string, unknown[]>();
    let pops = 0;
    const park = (group: string) => bench.park({ waiterId: `${group}/${pops++}`, group, partition });
    for (let i = 0; i < 1000; i++) park(`g${i}`);
    for (let n = 0; n < count; n++) {
      const seen = bench.effects.answers.length;
      bench.push([n]);
      for (const { waiterId, batch } of bench.effects.answers.slice(seen)) {
        const [group = ""] = waiterId.split("/");
        got.set(group, [...(got.get(group) ?? []), ...payloads(delivered(batch))]);
        park(group);
      }
    }
    expect(got.size).toBe(1000);
    for (const messages of got.values()) expect(messages).toEqual(Array.from({ length: count }, (_, n) => n));
    // Held once, however many groups were handed it.
    expect(bench.length()).toBe(count);
  });
});
