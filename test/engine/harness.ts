import type { Refusal } from "../../src/contract/errors.ts";
import { isRefusal } from "../../src/contract/errors.ts";
import { QUEUE_MODE } from "../../src/contract/limits.ts";
import type { EngineSettings } from "../../src/contract/options.ts";
import { Batch, type Handed } from "../../src/engine/batch.ts";
import type { Effects } from "../../src/engine/context.ts";
import { Engine, type AckStatus, type Outcome, type PopRequest } from "../../src/engine/engine.ts";
import { groupDepths, partitionDepths } from "../../src/engine/views.ts";

export const INCARNATION = "1a2b";

export const SETTINGS: EngineSettings = {
  queueMaxBytes: 1_000_000,
  queueMaxLength: 10_000,
  leaseSeconds: 30,
  retryLimit: 5,
  groupIdleSeconds: 300,
  implicitIdleMs: 300_000,
  maxWaiters: 10_000,
};

export interface Delivered {
  id: string;
  partition: string;
  attempts: number;
  payload: unknown;
}

export function delivered(batch: Batch): Delivered[] {
  return batch.items.map((text) => JSON.parse(text) as Delivered);
}

/** What the engine told the object around it, in order. */
export class Recorder implements Effects {
  readonly answers: { waiterId: string; batch: Batch }[] = [];
  readonly forgotten: string[] = [];
  readonly collected: string[] = [];
  readonly logged: { event: string; details: Record<string, unknown> }[] = [];

  answer(waiter: { id: string }, batch: Batch): void {
    this.answers.push({ waiterId: waiter.id, batch });
  }
  readonly deliveries: { id: string; number: number; batch: Batch }[] = [];
  readonly ends: { id: string; why: string; out: Handed[] }[] = [];

  deliver(id: string, number: number, batch: Batch): void {
    this.deliveries.push({ id, number, batch });
  }
  ended(id: string, why: string, out: Handed[]): void {
    this.ends.push({ id, why, out });
  }
  groupForgotten(_queue: string, group: string): void {
    this.forgotten.push(group);
  }
  queueCollected(queue: string): void {
    this.collected.push(queue);
  }
  log(event: string, details: Record<string, unknown>): void {
    this.logged.push({ event, details });
  }
  // An owner that is home of all its queues has nobody to tell these.
  attend(): void {}
  available(): void {}
  gather(): void {}
  askIdle(): void {}
}

/** An engine that is home of all its queues, with a clock in seconds, and short ways to say what tests say most. */
export class Bench {
  readonly effects = new Recorder();
  readonly engine: Engine;
  /** Bytes that the isolate may hold. */
  roomBytes = Infinity;
  #pops = 0;

  constructor(settings: Partial<EngineSettings> = {}) {
    this.engine = new Engine({
      incarnation: INCARNATION,
      settings: { ...SETTINGS, ...settings },
      effects: this.effects,
      isHome: () => true,
      isHere: () => true,
      hasRoom: (bytes) => this.engine.memoryBytes + bytes <= this.roomBytes,
    });
  }

  /** Moves the clock, with every timer on time. */
  at(seconds: number): void {
    const now = Math.round(seconds * 1000);
    for (let due = this.engine.nextDueAt; due <= now; due = this.engine.nextDueAt) this.engine.advance(due);
    this.engine.advance(now);
  }

  /** Pushes values into partition `p` of queue `q`, unless told otherwise. Answers the refusal's code. */
  push(values: unknown[], { queue = "q", partition = "p" } = {}): string | null {
    const texts = values.map((value) => JSON.stringify(value));
    return codeOf(this.engine.push(queue, partition, texts, false));
  }

  request(request: Partial<PopRequest> = {}): Batch | Refusal | null {
    const waiterId = `w${this.#pops++}`;
    return this.engine.pop({
      queue: "q",
      partition: "p",
      group: QUEUE_MODE,
      batch: 1,
      autoAck: false,
      waitMs: 0,
      waiterId,
      ...request,
    });
  }

  /** A pop that must be answered at once. */
  pop(request: Partial<PopRequest> = {}): Delivered[] {
    const batch = this.request(request);
    if (!(batch instanceof Batch)) throw new Error(`not answered: ${JSON.stringify(batch)}`);
    return delivered(batch);
  }

  popOne(request: Partial<PopRequest> = {}): Delivered {
    const [first] = this.pop(request);
    if (first === undefined) throw new Error("nothing to pop");
    return first;
  }

  /** A pop that must be parked. */
  park(request: Partial<PopRequest> = {}): void {
    const batch = this.request({ waitMs: 30_000, ...request });
    if (batch !== null) throw new Error(`not parked: ${JSON.stringify(batch)}`);
  }

  ack(id: string, status: AckStatus = "completed", { group = QUEUE_MODE, queue = "q", attempts = 0 } = {}): Outcome {
    const [outcome] = this.engine.ack(queue, group, [attempts > 0 ? { id, status, attempts } : { id, status }]);
    if (outcome === undefined) throw new Error("no outcome");
    return outcome;
  }

  /** The payloads that a parked pop was answered with, or null while it waits. */
  answer(waiterId: string): unknown[] | null {
    const found = this.effects.answers.filter((answer) => answer.waiterId === waiterId);
    if (found.length > 1) throw new Error(`${waiterId} was answered ${found.length} times`);
    return found[0] === undefined ? null : payloads(delivered(found[0].batch));
  }

  depth(group = QUEUE_MODE, queue = "q"): { pending: number; skipped: number } | null {
    const known = this.engine.queues.get(queue);
    const found = known === undefined ? undefined : groupDepths(known).find((depth) => depth.group === group);
    return found === undefined ? null : { pending: found.pending, skipped: found.skipped };
  }

  /** Pending messages by partition. */
  partitions(group: string | null = null, queue = "q"): Record<string, number> {
    const known = this.engine.queues.get(queue);
    const depths = known === undefined ? [] : partitionDepths(known, group);
    return Object.fromEntries(depths.map(({ partition, pending }) => [partition, pending]));
  }

  length(queue = "q"): number | null {
    return this.engine.queues.get(queue)?.length ?? null;
  }

  drops(queue = "q"): { bounds: number; ttl: number; retry: number } | null {
    return this.engine.queues.get(queue)?.drops ?? null;
  }
}

export function codeOf(value: unknown): string | null {
  return isRefusal(value) ? value.code : null;
}

export function payloads(messages: readonly Delivered[]): unknown[] {
  return messages.map(({ payload }) => payload);
}

/** A variable of the environment where there is one; the Workers runtime may have none. */
export function env(name: string): string | undefined {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];
}
