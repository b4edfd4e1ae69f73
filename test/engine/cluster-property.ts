import * as fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CHECKPOINT_MS } from "./cluster-book.ts";
import { ClusterRun, GROUPS, PARTITIONS, QUEUES, type Op } from "./cluster-run.ts";
import { env } from "./harness.ts";

/** In each of two files, which run side by side. Rare meetings of calls and crashes take more: a search is `WAGGLE_RUNS=10000`. */
const numRuns = Number(env("WAGGLE_RUNS") ?? 1000);
const seed = Number(env("WAGGLE_SEED") ?? Math.floor(Math.random() * 0x7fffffff));

const owners = fc.constantFrom(1, 2, 3, 4, 6);
const queue = fc.constantFrom(...QUEUES);
const partition = fc.constantFrom(...PARTITIONS);
const group = fc.constantFrom(...GROUPS);

const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ op: fc.constant("push" as const), queue, partition, count: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant("pop" as const),
      queue,
      partition: fc.option(partition),
      group,
      batch: fc.constantFrom(1, 2, 10),
      waitMs: fc.constantFrom(0, 0, 300),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("ack" as const),
      pick: fc.nat(9),
      status: fc.constantFrom("completed" as const, "completed" as const, "retry" as const),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant("advance" as const),
      ms: fc.constantFrom(1, 30, 400, CHECKPOINT_MS, 3000, 31_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("crash" as const), owner: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("restart" as const), owners: fc.option(owners, { freq: 4 }) }) },
);

/** Most calls go well. */
const die = fc.oneof({ weight: 6, arbitrary: fc.constant(99) }, { weight: 1, arbitrary: fc.nat(9) });
const step = fc.record({ op, turns: fc.option(fc.nat(40), { freq: 2 }) });
const run = fc.record({
  owners,
  steps: fc.array(step, { minLength: 5, maxLength: 40, size: "max" }),
  dice: fc.array(die, { maxLength: 200, size: "max" }),
});

/** Owners say what they hand over, and what fails: thousands of times, of which a mock would keep account. */
function quietly(): void {
  const { log, warn } = console;
  beforeAll(() => {
    Object.assign(console, { log: () => {}, warn: () => {} });
  });
  afterAll(() => {
    Object.assign(console, { log, warn });
  });
}

export function losesNothing(): void {
  beforeAll(() => console.log(`cluster: ${numRuns} runs, repeat with WAGGLE_SEED=${seed}`));
  quietly();

  const title = "owners that change in number, crash and lose calls lose no message that is on a disk";
  it(title, { timeout: 60_000 + numRuns * 200 }, async () => {
    const counts = { delivered: 0, handedOver: 0, crashes: 0 };
    await fc.assert(
      fc.asyncProperty(run, async ({ owners: first, steps, dice }) => {
        const cluster = new ClusterRun(first, dice);
        await cluster.whole(steps);
        counts.delivered += cluster.counts.delivered;
        counts.handedOver += cluster.counts.handedOver;
        counts.crashes += cluster.counts.crashes;
      }),
      { numRuns, seed },
    );
    expect(counts.delivered).toBeGreaterThan(numRuns * 5);
    expect(counts.handedOver).toBeGreaterThan(numRuns);
    expect(counts.crashes).toBeGreaterThan(numRuns);
  });
}
