import { describe, expect, it } from "vitest";
import { Bench } from "./harness.ts";
import { MALFORMED } from "./ops.ts";

describe("the outcome of an ack", () => {
  it("is acked with a live lease, and unknown the second time", () => {
    const bench = new Bench();
    bench.push(["a"]);
    const { id } = bench.popOne();
    expect(bench.ack(id)).toBe("acked");
    expect(bench.ack(id)).toBe("unknown");
    expect(bench.length()).toBe(0);
  });

  it("comes in order, one per entry, repeats and all", () => {
    const bench = new Bench();
    bench.push(["a", "b"]);
    const [a, b] = bench.pop({ batch: 2 }).map(({ id }) => id);
    const outcomes = bench.engine.ack("q", "__QUEUE_MODE__", [
      { id: b ?? "", status: "retry" },
      { id: "nonsense", status: "completed" },
      { id: a ?? "", status: "completed" },
      { id: a ?? "", status: "completed" },
    ]);
    expect(outcomes).toEqual(["redelivered", "unknown", "acked", "unknown"]);
  });

  it.each(MALFORMED)("is unknown for the malformed or unheard-of id %j", (id) => {
    const bench = new Bench();
    bench.push(["a"]);
    bench.popOne();
    expect(bench.ack(id)).toBe("unknown");
  });

  it("is stale for an id of another incarnation, on an unknown queue too", () => {
    const bench = new Bench();
    expect(bench.ack("e:ffff:p:0", "completed", { queue: "nobody" })).toBe("stale");
    expect(bench.ack("e:1a2b:p:0", "completed", { queue: "nobody" })).toBe("unknown");
    expect(bench.engine.queues.has("nobody")).toBe(false);
  });

  it("is unknown for another group, and settles nothing", () => {
    const bench = new Bench();
    bench.push(["a"]);
    const { id } = bench.popOne({ group: "g1" });
    bench.engine.addGroup("q", "g2");
    expect(bench.ack(id, "completed", { group: "g2" })).toBe("unknown");
    expect(bench.ack(id, "completed", { group: "nobody" })).toBe("unknown");
    expect(bench.ack(id, "completed", { group: "g1" })).toBe("acked");
  });

  it("is unknown for what was acked at delivery", () => {
    const bench = new Bench();
    bench.push(["a"]);
    expect(bench.ack(bench.popOne({ autoAck: true }).id)).toBe("unknown");
    expect(bench.length()).toBe(0);
  });

  it("is unknown for what was evicted, reset or deleted", () => {
    const bench = new Bench();
    bench.engine.configure("q", { maxLength: 1, policy: "dropOldest" });
    bench.push(["a"]);
    const evicted = bench.popOne();
    bench.push(["b"]);
    expect(bench.ack(evicted.id)).toBe("unknown");
    const dropped = bench.popOne();
    bench.engine.reset("q");
    expect(bench.ack(dropped.id)).toBe("unknown");
    bench.push(["c"]);
    const deleted = bench.popOne();
    bench.engine.remove("q");
    expect(bench.ack(deleted.id)).toBe("unknown");
  });

  it("still counts after the deadline, as long as nobody else was handed the message", () => {
    const bench = new Bench();
    bench.push(["a", "b"]);
    const [a, b] = bench.pop({ batch: 2 });
    bench.at(31);
    expect(bench.ack(a?.id ?? "")).toBe("acked");
    expect(bench.ack(b?.id ?? "", "retry")).toBe("redelivered");
    expect(bench.ack(b?.id ?? "")).toBe("unknown");
    expect(bench.popOne().payload).toBe("b");
    expect(bench.pop()).toEqual([]);
  });

  it("is unknown after a retry or a failure, until it is handed over again", () => {
    const bench = new Bench();
    bench.push(["a"]);
    const { id } = bench.popOne();
    expect(bench.ack(id, "failed")).toBe("redelivered");
    expect(bench.ack(id, "retry")).toBe("unknown");
    expect(bench.popOne().attempts).toBe(2);
    expect(bench.ack(id)).toBe("acked");
  });

  it("is unknown for an earlier delivery that says which one it was", () => {
    const bench = new Bench();
    bench.push(["a"]);
    const { id } = bench.popOne();
    bench.at(30);
    expect(bench.popOne().attempts).toBe(2);
    expect(bench.ack(id, "completed", { attempts: 1 })).toBe("unknown");
    expect(bench.ack(id, "failed", { attempts: 1 })).toBe("unknown");
    expect(bench.length()).toBe(1);
    expect(bench.ack(id, "completed", { attempts: 2 })).toBe("acked");
  });
});
