import * as fc from "fast-check";
import { expect, it } from "vitest";
import { env } from "./harness.ts";
import { ops } from "./ops.ts";
import { SideBySide } from "./side-by-side.ts";

const numRuns = Number(env("WAGGLE_RUNS") ?? 2000);
const seed = Number(env("WAGGLE_SEED") ?? Math.floor(Math.random() * 0x7fffffff));

it("does what a naive model of the contract does", { timeout: 60_000 + numRuns * 100 }, () => {
  console.log(`model: ${numRuns} runs, repeat with WAGGLE_SEED=${seed}`);
  let steps = 0;
  fc.assert(
    fc.property(ops, (list) => {
      const both = new SideBySide();
      for (const op of list) both.run(op);
      both.end();
      steps += list.length;
    }),
    { numRuns, seed },
  );
  expect(steps).toBeGreaterThan(numRuns);
});
