import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Handed } from "../../src/engine/batch.ts";
import { Bench, delivered, env, type Delivered } from "./harness.ts";

const numRuns = Number(env("WAGGLE_RUNS") ?? 2000);
const seed = Number(env("WAGGLE_SEED") ?? Math.floor(Math.random() * 0x7fffffff));

const LEASE_SECONDS = 30;
const SETTINGS = { leaseSeconds: LEASE_SECONDS, retryLimit: 1000, groupIdleSeconds: 0, implicitIdleMs: 1e9 };
const GROUPS = ["g", "h"] as const;

const partition = fc.constantFrom("a", "b");
const group = fc.constantFrom(...GROUPS);
const slot = fc.nat({ max: 2 });
const op = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("push" as const), partition, count: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("subscribe" as const),
      slot,
      partition: fc.option(partition),
      group,
      prefetch: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("batch" as const), slot, which: fc.nat() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("single" as const),
      slot,
      which: fc.nat(),
      status: fc.constantFrom("completed" as const, "retry" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("leave" as const), slot }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("wait" as const), seconds: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("pop" as const), group, partition: fc.option(partition) }) },
);

type Op = typeof op extends fc.Arbitrary<infer T> ? T : never;

/** A subscriber, as its client sees it. */
interface Subscriber {
  id: string;
  group: string;
  prefetch: number;
  /** What it has been sent and has neither settled nor lost to the end of its lease, by id. */
  out: Map<string, Delivered & { batch: number; until: number }>;
  batches: number[];
}

class Run {
  readonly bench = new Bench(SETTINGS);
  readonly slots: (Subscriber | null)[] = [null, null, null];
  readonly pushed: number[] = [];
  /** Payloads that were completed, by group. */
  readonly completed = new Map(GROUPS.map((name) => [name as string, new Set<unknown>()]));
  now = 1000;
  #subscribers = 0;
  #seen = 0;

  constructor() {
    this.bench.at(this.now);
    for (const name of GROUPS) {
      for (const where of ["a", "b"]) this.bench.pop({ partition: where, group: name });
    }
  }

  do(one: Op): void {
    const { engine } = this.bench;
    switch (one.type) {
      case "push": {
        const values = Array.from({ length: one.count }, (_, i) => this.pushed.length + i);
        this.pushed.push(...values);
        this.bench.push(values, { partition: one.partition });
        break;
      }
      case "subscribe": {
        if (this.slots[one.slot] !== null) break;
        const id = `s${this.#subscribers++}`;
        this.slots[one.slot] = { id, group: one.group, prefetch: one.prefetch, out: new Map(), batches: [] };
        const { partition: where, group: name, prefetch } = one;
        expect(
          engine.subscribe({ id, queue: "q", partition: where, group: name, prefetch, expiresAt: Infinity }),
        ).toBeNull();
        break;
      }
      case "batch":
        this.#ackBatch(this.slots[one.slot] ?? null, one.which);
        break;
      case "single":
        this.#ackOne(this.slots[one.slot] ?? null, one.which, one.status);
        break;
      case "leave":
        this.leave(one.slot);
        break;
      case "wait":
        this.wait(one.seconds);
        break;
      case "pop":
        for (const { id, payload } of this.bench.pop({ partition: one.partition, group: one.group, batch: 2 })) {
          this.#isOwed(one.group, payload);
          expect(this.bench.ack(id, "completed", { group: one.group })).toBe("acked");
          this.completed.get(one.group)?.add(payload);
        }
    }
    this.#receive();
  }

  #ackBatch(subscriber: Subscriber | null, which: number): void {
    const number = subscriber?.batches[which % subscriber.batches.length];
    if (subscriber === null || number === undefined) return;
    const { id, group: name, out } = subscriber;
    const { engine } = this.bench;
    const meant = [...out.values()].filter(({ batch }) => batch === number);
    const handed = engine.subscriptions.inBatch(id, number);
    expect(keysOf(handed)).toEqual(keysOfAll(meant));
    engine.subscriptions.settleBatch(id, number);
    expect(engine.complete("q", name, handed)).toBe(meant.length);
    for (const message of meant) {
      out.delete(message.id);
      this.completed.get(name)?.add(message.payload);
    }
    engine.subscriptions.goOn(id);
  }

  #ackOne(subscriber: Subscriber | null, which: number, status: "completed" | "retry"): void {
    const message = [...(subscriber?.out.values() ?? [])].at(which % (subscriber?.out.size || 1));
    if (subscriber === null || message === undefined) return;
    const { id, group: name, out } = subscriber;
    const { engine } = this.bench;
    const acks = [{ id: message.id, status, attempts: message.attempts }];
    engine.subscriptions.settle(id, acks);
    expect(engine.ack("q", name, acks)).toEqual([status === "completed" ? "acked" : "redelivered"]);
    out.delete(message.id);
    if (status === "completed") this.completed.get(name)?.add(message.payload);
    engine.subscriptions.goOn(id);
  }

  leave(index: number): void {
    const subscriber = this.slots[index];
    if (subscriber === null || subscriber === undefined) return;
    this.slots[index] = null;
    const handed = this.bench.engine.subscriptions.end(subscriber.id);
    expect(keysOf(handed)).toEqual(keysOfAll([...subscriber.out.values()]));
    this.bench.engine.release("q", subscriber.group, handed, true);
    this.#receive();
  }

  wait(seconds: number): void {
    // Step by step: a lease that ends may bring a message back to the same subscriber at once.
    for (let second = 0; second < seconds; second++) {
      this.now++;
      for (const subscriber of this.slots) {
        for (const [id, { until }] of subscriber?.out ?? []) if (until <= this.now) subscriber?.out.delete(id);
      }
      this.bench.at(this.now);
      this.#receive();
    }
  }

  #isOwed(name: string, payload: unknown): void {
    expect(this.completed.get(name)?.has(payload), `${String(payload)} was completed by ${name}`).toBe(false);
  }

  /** What the engine has sent since the last look. */
  #receive(): void {
    const { deliveries } = this.bench.effects;
    for (const { id, number, batch } of deliveries.slice(this.#seen)) {
      const subscriber = this.slots.find((one) => one?.id === id);
      if (subscriber == null) throw new Error(`${id} has gone and was sent messages`);
      subscriber.batches.push(number);
      for (const message of delivered(batch)) {
        this.#isOwed(subscriber.group, message.payload);
        subscriber.out.set(message.id, { ...message, batch: number, until: this.now + LEASE_SECONDS });
      }
    }
    this.#seen = deliveries.length;
    for (const subscriber of this.slots) {
      if (subscriber !== null) expect(subscriber.out.size).toBeLessThanOrEqual(subscriber.prefetch);
    }
  }

  /** Nothing was lost: whatever a group has not completed, it still gets. */
  end(): void {
    for (const index of this.slots.keys()) this.leave(index);
    this.wait(LEASE_SECONDS + 1);
    for (const name of GROUPS) {
      const rest = this.bench.pop({ partition: null, group: name, batch: 1000, autoAck: true });
      const done = this.completed.get(name) ?? new Set();
      const all = [...rest.map(({ payload }) => payload as number), ...(done as Set<number>)];
      expect(all.toSorted((a, b) => a - b)).toEqual(this.pushed);
    }
    expect(this.bench.engine.isQuiet).toBe(true);
  }
}

function keysOf(handed: readonly Handed[]): string[] {
  return handed
    .flatMap(({ partition: where, seqs, attempts }) => seqs.map((seq, i) => `${where}:${seq} ${attempts[i]}`))
    .toSorted();
}

function keysOfAll(messages: readonly Delivered[]): string[] {
  return messages.map(({ id, attempts }) => `${id.split(":").slice(2).join(":")} ${attempts}`).toSorted();
}

it(
  "subscribers get all that their group is owed, within their credit, and none of it again",
  { timeout: 120_000 },
  () => {
    let completed = 0;
    fc.assert(
      fc.property(fc.array(op, { maxLength: 60, size: "max" }), (list) => {
        const run = new Run();
        for (const one of list) run.do(one);
        run.end();
        for (const done of run.completed.values()) completed += done.size;
      }),
      { numRuns, seed },
    );
    expect(completed, `seed ${seed}`).toBeGreaterThan(numRuns);
  },
);
