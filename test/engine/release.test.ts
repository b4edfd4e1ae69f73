import { expect, it } from "vitest";
import { QUEUE_MODE } from "../../src/contract/limits.ts";
import { Batch } from "../../src/engine/batch.ts";
import { Bench } from "./harness.ts";

function popBatch(bench: Bench): Batch {
  const batch = bench.request();
  if (!(batch instanceof Batch)) throw new Error("not answered");
  return batch;
}

it("a delivery that never reached its caller comes again with its attempts unchanged", () => {
  const bench = new Bench();
  bench.push(["a"]);
  const batch = popBatch(bench);
  bench.engine.release("q", QUEUE_MODE, batch.handed);
  expect(bench.popOne()).toMatchObject({ payload: "a", attempts: 1 });
});

it("a return that comes after the lease has run out does not end the lease of the next holder", () => {
  const bench = new Bench({ leaseSeconds: 1 });
  bench.push(["a"]);
  const late = popBatch(bench);
  bench.at(1);
  const next = bench.popOne();
  expect(next.attempts).toBe(2);
  bench.engine.release("q", QUEUE_MODE, late.handed);
  expect(bench.pop()).toEqual([]);
  expect(bench.ack(next.id)).toBe("acked");
});
