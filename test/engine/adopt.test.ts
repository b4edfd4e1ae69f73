import { expect, it } from "vitest";
import { exportRing, type RingExport } from "../../src/engine/adopt.ts";
import { inTransit } from "../../src/engine/transit.ts";
import { Bench } from "./harness.ts";
import { Restarts } from "./restarts.ts";

const G = { group: "g" };

function exported(bench: Bench): RingExport {
  const ring = bench.engine.queues.get("q")?.rings.get("p");
  if (ring === undefined) throw new Error("no such partition");
  return exportRing(ring);
}

/** A partition of which group g has acked "a", holds "b" and has not seen "c". */
function olderPart(): RingExport {
  const bench = new Bench();
  bench.push(["a", "b", "c"]);
  bench.ack(bench.popOne(G).id, "completed", G);
  bench.popOne(G);
  return exported(bench);
}

it("a partition that is taken over goes on where its groups stood", () => {
  const bench = new Bench();
  bench.engine.adopt("q", olderPart());
  expect(bench.pop({ ...G, batch: 10 }).map(({ payload, attempts }) => [payload, attempts])).toEqual([
    ["b", 2],
    ["c", 1],
  ]);
  expect(bench.pop({ ...G, batch: 10 })).toEqual([]);
});

it("two parts of one partition are joined with the older in front, and nothing is lost or counted twice", () => {
  const bench = new Bench();
  bench.push(["x", "y"]);
  const leased = bench.popOne(G);
  bench.engine.adopt("q", olderPart());
  expect(bench.pop({ ...G, batch: 10 }).map(({ payload, attempts }) => [payload, attempts])).toEqual([
    ["b", 2],
    ["c", 1],
    ["x", 2],
    ["y", 1],
  ]);
  // What was leased got a new number with the join.
  expect(bench.ack(leased.id, "completed", G)).toBe("unknown");
});

it("a parked pop gets what arrives with a partition", () => {
  const bench = new Bench();
  bench.park({ ...G, waiterId: "w", batch: 10 });
  bench.engine.adopt("q", olderPart());
  expect(bench.answer("w")).toEqual(["b", "c"]);
});

it("a partition that comes back before it had left is kept for groups that its queue has learnt meanwhile", () => {
  const owner = new Restarts();
  owner.push(["1"], { queue: inTransit("q") });
  owner.pop({ queue: inTransit("q"), ...G });
  owner.push(["2"], { partition: "other" });
  owner.pop({ partition: "other", group: "late" });
  owner.checkpoint();
  owner.restart();
  owner.ack(owner.pop(G), G);
  expect(owner.pop({ group: "late" })).toMatchObject([{ payload: 1, attempts: 1 }]);
});
