import * as fc from "fast-check";
import { QUEUE_MODE } from "../../src/contract/limits.ts";
import type { DeclaredOptions } from "../../src/contract/options.ts";
import type { AckStatus } from "../../src/engine/engine.ts";

/** One step of a property run. Numbers called `pick` choose among what the run has seen so far. */
export type Op =
  | {
      op: "push";
      queue: string;
      partition: string;
      payloads: number[];
      key: string | undefined;
      requireResponders: boolean;
    }
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
  | { op: "discard"; queue: string; partition: string; places: number[] }
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

const pick = fc.nat(99);
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

/** What a kind of run is about: which names it uses, and how often it does what. */
interface Profile {
  queues: string[];
  partitions: string[];
  groups: string[];
  /** What the first queue is configured with at the start. */
  declared: DeclaredOptions | null;
  waitMs: number[];
  /** How far the clock moves at once. */
  ms: number[];
  often: { push: number; pop: number; ack: number; advance: number; configure: number; rare: number };
}

const OFTEN = { push: 10, pop: 12, ack: 8, advance: 8, configure: 3, rare: 1 };

const GENERAL: Profile = {
  queues: QUEUES,
  partitions: PARTITIONS,
  groups: GROUPS,
  declared: null,
  waitMs: [0, 0, 0, 1, 500, 4000, 30_000],
  ms: [1, 499, 500, 1000, 2000, 3000, 5000, 9000, 12_000, 16_000, 25_000],
  often: OFTEN,
};

const PROFILES: Profile[] = [
  GENERAL,
  {
    ...GENERAL,
    queues: ["q1"],
    partitions: PARTITIONS.slice(0, 2),
    groups: ["g1", "g2"],
    declared: { windowBuffer: { ms: 500, count: 3 }, leaseSeconds: 1 },
    waitMs: [0, 500, 1500, 4000, 30_000],
    ms: [1, 100, 200, 300, 499, 500, 1000],
    often: { ...OFTEN, configure: 1, rare: 0.3 },
  },
  {
    ...GENERAL,
    queues: ["q0"],
    partitions: PARTITIONS.slice(0, 2),
    declared: { maxLength: 5, policy: "dropOldest", leaseSeconds: 5, ttlSeconds: 8 },
    ms: [1, 500, 1000, 2000, 3000],
    often: { ...OFTEN, push: 16, configure: 0.5, rare: 0.3 },
  },
  {
    ...GENERAL,
    queues: ["q0"],
    declared: { groupIdleSeconds: 40, ttlSeconds: 60, leaseSeconds: 30 },
    waitMs: [0, 0, 0, 4000],
    ms: [1000, 5000, 9000, 12_000, 16_000],
    often: { ...OFTEN, configure: 0.5, rare: 0.3 },
  },
  { ...GENERAL, queues: ["q0"], often: { ...OFTEN, configure: 0, rare: 0.5 } },
  {
    ...GENERAL,
    queues: ["q0"],
    partitions: PARTITIONS.slice(0, 2),
    groups: ["g1", "g2"],
    declared: { retryLimit: 2, leaseSeconds: 1 },
    waitMs: [0, 0, 500, 4000],
    ms: [1, 500, 1000],
    often: { ...OFTEN, push: 4, ack: 12, configure: 0.5, rare: 0.5 },
  },
];

function opsOf({ queues, partitions, groups, declared, waitMs, ms, often }: Profile): fc.Arbitrary<Op[]> {
  const queue = fc.constantFrom(...queues);
  const partition = fc.constantFrom(...partitions);
  const group = fc.constantFrom(...groups);
  const kinds: [number, fc.Arbitrary<Op>][] = [
    [
      often.push,
      fc.record({
        op: fc.constant("push" as const),
        queue,
        partition,
        payloads: fc.array(fc.nat(5), { minLength: 1, maxLength: 4 }),
        key: fc.option(fc.constantFrom("k1", "k2", "ключ"), { nil: undefined, freq: 1 }),
        requireResponders: fc.constantFrom(false, false, false, false, true),
      }),
    ],
    [
      often.pop,
      fc.record({
        op: fc.constant("pop" as const),
        queue,
        partition: fc.option(partition, { nil: null, freq: 2 }),
        group,
        batch: fc.constantFrom(1, 1, 2, 3, 10),
        autoAck: fc.constantFrom(false, false, true),
        waitMs: fc.constantFrom(...waitMs),
      }),
    ],
    [
      often.ack,
      fc.record({
        op: fc.constant("ack" as const),
        pick,
        group: fc.option(group, { nil: null, freq: 1 }),
        acks: fc.array(pickedAck, { minLength: 1, maxLength: 4 }),
      }),
    ],
    [often.advance, fc.record({ op: fc.constant("advance" as const), ms: fc.constantFrom(...ms), late: fc.boolean() })],
    [often.configure, fc.record({ op: fc.constant("configure" as const), queue, options })],
    [often.rare, fc.record({ op: fc.constant("release" as const), pick })],
    [often.rare, fc.record({ op: fc.constant("cancel" as const), pick })],
    [often.rare, fc.record({ op: fc.constant("reset" as const), queue })],
    [
      often.rare,
      fc.record({
        op: fc.constant("discard" as const),
        queue,
        partition,
        places: fc.uniqueArray(fc.nat(7), { minLength: 1, maxLength: 3 }),
      }),
    ],
    [often.rare, fc.record({ op: fc.constant("remove" as const), queue })],
    [often.rare, fc.record({ op: fc.constant("dropGroup" as const), queue, group })],
  ];
  const op = fc.oneof(...kinds.map(([weight, arbitrary]) => ({ weight: Math.round(weight * 10), arbitrary })));
  const list = fc.array(op, { minLength: 1, maxLength: 60, size: "max" });
  const [first] = queues;
  if (declared === null || first === undefined) return list;
  return list.map((later) => [{ op: "configure", queue: first, options: declared }, ...later]);
}

/** A run's steps. */
export const ops: fc.Arbitrary<Op[]> = fc.oneof(...PROFILES.map(opsOf));
