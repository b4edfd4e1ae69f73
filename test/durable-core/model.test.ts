import * as fc from "fast-check";
import { expect, it } from "vitest";
import { env } from "../engine/harness.ts";
import { onDisk } from "./disk.ts";
import { Run, type Op } from "./model.ts";

const numRuns = Number(env("WAGGLE_RUNS") ?? 600);
const seed = Number(env("WAGGLE_SEED") ?? Math.floor(Math.random() * 0x7fffffff));

const lost = fc.constantFrom(false, false, false, false, true);
const pick = fc.nat(20);

const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant("send" as const),
      count: fc.integer({ min: 1, max: 5 }),
      delays: fc.array(fc.constantFrom(null, null, null, 0, 5), { minLength: 5, maxLength: 5 }),
      lost,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("import" as const),
      attempts: fc.array(fc.constantFrom(0, 0, 1, 2, 4), { minLength: 1, maxLength: 4 }),
      dues: fc.array(fc.constantFrom(null, null, -1000, 5000), { minLength: 4, maxLength: 4 }),
      known: fc.nat(3),
      lost,
    }),
  },
  { weight: 6, arbitrary: fc.record({ op: fc.constant("hand" as const), limit: fc.nat(3), lost }) },
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant("finish" as const),
      pick,
      how: fc.array(fc.constantFrom("ack" as const, "retry" as const, "later" as const), {
        minLength: 1,
        maxLength: 4,
      }),
      threw: fc.boolean(),
      lost,
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("unreachable" as const), pick, lost }) },
  {
    weight: 4,
    arbitrary: fc.record({ op: fc.constant("pull" as const), limit: fc.integer({ min: 1, max: 7 }), lost }),
  },
  { weight: 5, arbitrary: fc.record({ op: fc.constant("settle" as const), pick, retry: fc.boolean(), lost }) },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant("letters" as const), arrives: fc.boolean(), known: fc.boolean() }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ op: fc.constant("advance" as const), ms: fc.constantFrom(1, 1000, 5000, 31_000) }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("restart" as const) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("purge" as const), pick }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("purgeAll" as const) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("eject" as const), lost }) },
  {
    weight: 7,
    arbitrary: fc.record({
      op: fc.constant("page" as const),
      pick,
      maxBytes: fc.constantFrom(1, 1000, 1_000_000),
      arrives: fc.constantFrom(true, true, true, false),
      drains: fc.constantFrom(false, false, true),
      lost,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant("declare" as const),
      consumers: fc.nat(7),
      paused: fc.constantFrom(false, false, false, true),
      maxRetries: fc.constantFrom(0, 1, 3),
      concurrency: fc.constantFrom(1, 1, 2),
      waitMs: fc.constantFrom(0, 0, 2000),
    }),
  },
);

it(
  "loses nothing and invents nothing, whatever happens between two steps",
  { timeout: 60_000 + numRuns * 100 },
  async () => {
    console.log(`durable core: ${numRuns} runs, repeat with WAGGLE_SEED=${seed}`);
    await onDisk((disk) => {
      let steps = 0;
      fc.assert(
        fc.property(fc.array(op, { minLength: 1, maxLength: 40, size: "max" }), (ops) => {
          const run = new Run(disk);
          run.run({ op: "declare", consumers: 1, paused: false, maxRetries: 3, concurrency: 1, waitMs: 0 });
          for (const one of ops) run.run(one);
          run.end();
          steps += ops.length;
        }),
        { numRuns, seed },
      );
      expect(steps).toBeGreaterThan(numRuns);
    });
  },
);
