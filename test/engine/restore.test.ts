import * as fc from "fast-check";
import { expect, it } from "vitest";
import { env } from "./harness.ts";
import { ops } from "./ops.ts";
import { Restarts } from "./restarts.ts";

const numRuns = Number(env("WAGGLE_RUNS") ?? 1000);
const seed = Number(env("WAGGLE_SEED") ?? Math.floor(Math.random() * 0x7fffffff));

/** What happens to the owner after a step. */
type Mark = "checkpoint" | "flush" | "crash" | "crash at once" | "sleep" | null;

const often = <T>(weight: number, value: T) => ({ weight, arbitrary: fc.constant(value) });
const mark: fc.Arbitrary<Mark> = fc.oneof(
  often<Mark>(12, null),
  often<Mark>(6, "checkpoint"),
  often<Mark>(1, "flush"),
  often<Mark>(2, "crash"),
  often<Mark>(1, "crash at once"),
  often<Mark>(1, "sleep"),
);
const downMs = fc.constantFrom(0, 1, 900, 4000, 20_000);
const marks = fc.array(fc.record({ mark, downMs }), { minLength: 61, maxLength: 61 });

it("a restart brings back what the last checkpoint held, and nothing else", { timeout: 60_000 + numRuns * 100 }, () => {
  console.log(`restore: ${numRuns} runs, repeat with WAGGLE_SEED=${seed}`);
  let restarts = 0;
  fc.assert(
    fc.property(ops, marks, (list, after) => {
      const owner = new Restarts();
      list.forEach((op, index) => {
        owner.run(op);
        const next = after[index];
        if (next?.mark === "checkpoint") owner.checkpoint();
        else if (next?.mark === "flush") owner.flush();
        else if (next?.mark === "sleep") owner.sleep(next.downMs);
        else if (next?.mark === "crash" || next?.mark === "crash at once") {
          owner.crash({ losingLastWrite: next.mark === "crash at once", downMs: next.downMs });
        }
      });
      owner.checkpoint();
      owner.crash();
      owner.drain();
      // What is gone now must not come back either.
      owner.checkpoint();
      owner.crash();
      restarts += owner.restarts;
    }),
    { numRuns, seed },
  );
  expect(restarts).toBeGreaterThan(numRuns * 2);
});
