import * as fc from "fast-check";
import { QUEUE_MODE } from "../../src/contract/limits.ts";
import type { DeclaredOptions } from "../../src/contract/options.ts";
import type { AckStatus } from "../../src/engine/engine.ts";

/** One step of a property run. Numbers called `pick` choose among what the run has seen so far. */
export type Op =
  | { op: "push"; queue: string; partition: string; payloads: number[] }
  | {
      op: "pop";
      queue: string;
      partition: string | null;
      group: string;
      batch: number;
      autoAck: boolean;
      waitMs: number;
    }
  | { op: "ack"; pick: number; group: string | null; acks: PickedAck[] }
  | { op: "release"; pick: number }
  | { op: "cancel"; pick: number }
  | { op: "configure"; queue: string; options: DeclaredOptions }
  | { op: "reset"; queue: string }
  | { op: "remove"; queue: string }
  | { op: "dropGroup"; queue: string; group: string }
  | { op: "advance"; ms: number; late: boolean };

export interface PickedAck {
  pick: number;
  status: AckStatus;
  attempts: "none" | "same" | "earlier";
  id: "right" | "stale" | "malformed";
}

export const QUEUES = ["q0", "q1"];
/** A colon, as ids are read from both ends, and what JSON must escape. */
export const PARTITIONS = ["Default", "a:1", 'é"\\'];
export const GROUPS = [QUEUE_MODE, "g1", "g2"];
export const MALFORMED = [
  "",
  "e:1a2b",
  "e:1a2b::1",
  "e:1a2b:Default:",
  "e:1a2b:Default:01",
  "e:1a2b:Default:-1",
  "e:1a2b:Default:1.5",
  "e:1A2B:Default:1",
  "x:1a2b:Default:1",
  "e:11112222333344445:Default:1",
  "e:1a2b:Default:99999",
];

const queue = fc.constantFrom(...QUEUES);
const partition = fc.constantFrom(...PARTITIONS);
const group = fc.constantFrom(...GROUPS);
const pick = fc.nat(99);
const batch = fc.constantFrom(1, 1, 2, 3, 10);
const sometimes = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 1 });

const options: fc.Arbitrary<DeclaredOptions> = fc
  .record({
    maxLength: sometimes(fc.constantFrom(0, 1, 3, 5, 100)),
    maxBytes: sometimes(fc.constantFrom(0, 20, 60, 100_000)),
    policy: sometimes(fc.constantFrom("reject" as const, "dropOldest" as const)),
    ttlSeconds: sometimes(fc.constantFrom(0, 2, 8, 60)),
    leaseSeconds: sometimes(fc.constantFrom(0, 1, 5, 30)),
    retryLimit: sometimes(fc.constantFrom(0, 1, 2, 4)),
    windowBuffer: sometimes(
      fc.record({ ms: sometimes(fc.constantFrom(0, 500, 3000)), count: sometimes(fc.constantFrom(0, 2, 3)) }),
    ),
    groupIdleSeconds: sometimes(fc.constantFrom(0, 3, 12, 40)),
  })
  .map((given) => JSON.parse(JSON.stringify(given)) as DeclaredOptions);

const pickedAck: fc.Arbitrary<PickedAck> = fc.record({
  pick,
  status: fc.constantFrom<AckStatus>("completed", "completed", "completed", "retry", "failed"),
  attempts: fc.constantFrom("none", "none", "same", "earlier"),
  id: fc.oneof(
    { weight: 12, arbitrary: fc.constant("right" as const) },
    { weight: 1, arbitrary: fc.constantFrom("stale" as const, "malformed" as const) },
  ),
});

const payloadKinds = fc.array(fc.nat(5), { minLength: 1, maxLength: 4 });

const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ op: fc.constant("push" as const), queue, partition, payloads: payloadKinds }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      op: fc.constant("pop" as const),
      queue,
      partition: fc.option(partition, { nil: null, freq: 2 }),
      group,
      batch,
      autoAck: fc.constantFrom(false, false, true),
      waitMs: fc.constantFrom(0, 0, 0, 1, 500, 4000, 30_000),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant("ack" as const),
      pick,
      group: fc.option(group, { nil: null, freq: 1 }).map((other) => other),
      acks: fc.array(pickedAck, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("release" as const), pick }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("cancel" as const), pick }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("configure" as const), queue, options }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("reset" as const), queue }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("remove" as const), queue }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("dropGroup" as const), queue, group }) },
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant("advance" as const),
      ms: fc.constantFrom(1, 499, 500, 1000, 2000, 3000, 5000, 9000, 12_000, 16_000, 25_000),
      late: fc.boolean(),
    }),
  },
);

export const ops = fc.array(op, { minLength: 1, maxLength: 60, size: "max" });
