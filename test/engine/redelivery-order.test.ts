import { describe, expect, it } from "vitest";
import { Bench, delivered, payloads } from "./harness.ts";

describe("redelivery order", () => {
  it("is lowest first, before anything new, whatever order things came back in", () => {
    const bench = new Bench();
    bench.push([0, 1, 2, 3, 4]);
    const [first, second, third] = bench.pop({ batch: 3 });
    for (const message of [third, first, second]) bench.ack(message?.id ?? "", "retry");
    bench.push([5]);
    expect(payloads(bench.pop({ batch: 10 }))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("does not disturb what others were handed meanwhile", () => {
    const bench = new Bench();
    bench.push([0, 1, 2]);
    const first = bench.popOne();
    expect(bench.popOne().payload).toBe(1);
    bench.ack(first.id, "failed");
    expect(payloads(bench.pop({ batch: 10 }))).toEqual([0, 2]);
  });

  it("keeps a batch of its own when only that fits", () => {
    const bench = new Bench();
    bench.push([0, 1, 2]);
    const [first, second] = bench.pop({ batch: 2 });
    bench.ack(second?.id ?? "", "retry");
    bench.ack(first?.id ?? "", "retry");
    expect(bench.popOne().payload).toBe(0);
    expect(bench.popOne().payload).toBe(1);
    expect(bench.popOne().payload).toBe(2);
  });

  it("lets nothing new overtake a redelivery that does not fit any more", () => {
    const bench = new Bench();
    bench.push(["r0", "a redelivery that is long", "n"]);
    for (const { id } of bench.pop({ batch: 2 })) bench.ack(id, "retry");
    const claim = { queue: "q", group: "__QUEUE_MODE__", limit: 9, maxBytes: 20, autoAck: false, interest: false };
    const { batch, left } = bench.engine.claim(claim);
    expect(payloads(delivered(batch))).toEqual(["r0"]);
    expect(left).toBe(2);
  });

  it("starts from the first attempt for a delivery that never arrived", () => {
    const bench = new Bench();
    bench.push([0, 1]);
    const lost = bench.request({ batch: 1 });
    if (lost === null || "code" in lost) throw new Error("not answered");
    bench.engine.release("q", "__QUEUE_MODE__", lost.handed);
    const again = bench.pop({ batch: 2 });
    expect(again.map(({ payload, attempts }) => [payload, attempts])).toEqual([
      [0, 1],
      [1, 1],
    ]);
  });
});
