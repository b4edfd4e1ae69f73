import { expect, vi } from "vitest";
import type { Refusal } from "../../src/contract/errors.ts";
import { KEY_MEMORY_MS } from "../../src/contract/limits.ts";
import type { EngineSettings } from "../../src/contract/options.ts";
import { Batch, type Handed } from "../../src/engine/batch.ts";
import { groupDepths, partitionDepths, shareOf } from "../../src/engine/views.ts";
import { formatMessageId } from "../../src/engine/ids.ts";
import type { Ack, PopRequest } from "../../src/engine/engine.ts";
import { Queue } from "../../src/engine/queue.ts";
import { Bench, codeOf, INCARNATION } from "./harness.ts";
import { bytesOf, heldIn, Model, readerKey, type Choices, type Item } from "./model.ts";
import { GROUPS, MALFORMED, PARTITIONS, type Op } from "./ops.ts";

const idleCursors = vi.spyOn(Queue.prototype, "dropIdleCursor");

/** Small enough that every bound is met within a run. */
const SETTINGS: EngineSettings = {
  queueMaxBytes: 120,
  queueMaxLength: 8,
  leaseSeconds: 10,
  retryLimit: 3,
  groupIdleSeconds: 20,
  implicitIdleMs: 15_000,
  maxWaiters: 6,
};

interface Seen {
  queue: string;
  group: string;
  handed: readonly Handed[];
  items: Item[];
}

/** Runs every step on the engine and on the model, and compares what there is to be seen. */
export class SideBySide {
  readonly bench = new Bench(SETTINGS);
  readonly engine = this.bench.engine;
  readonly model = new Model(SETTINGS, INCARNATION);
  now = 0;
  #payloads = 0;
  #pops = 0;
  #answered = 0;
  readonly #waiters = new Map<string, PopRequest>();
  readonly #seen: Seen[] = [];

  run(op: Op): void {
    switch (op.op) {
      case "push":
        return this.#push(op);
      case "pop":
        return this.#pop({ ...op, waiterId: `w${this.#pops++}` });
      case "ack":
        return this.#ack(op);
      case "release": {
        const seen = recent(this.#seen, op.pick);
        if (seen === undefined) return;
        return this.#both(
          () => this.engine.release(seen.queue, seen.group, seen.handed),
          () => this.model.release(seen.queue, seen.group, seen.items),
        );
      }
      case "cancel": {
        const id = recent([...this.#waiters.keys()], op.pick) ?? "nobody";
        return this.#both(
          () => this.engine.cancel(id),
          () => this.model.cancel(id),
        );
      }
      case "configure": {
        const options = { ...op.options };
        // Windows and mixed parked pops are tried apart: whose hand a message is in would be anyone's guess.
        if (op.queue === "q0") delete options.windowBuffer;
        return this.#both(
          () => void this.engine.configure(op.queue, options),
          () => this.model.configure(op.queue, options),
        );
      }
      case "reset":
        return this.#both(
          () => this.engine.reset(op.queue),
          () => this.model.reset(op.queue),
        );
      case "discard":
        return this.#both(
          () => this.engine.discard(op.queue, this.#idsAt(op)),
          () => this.model.discard(op.queue, op.partition, op.places),
        );
      case "remove":
        return this.#both(
          () => this.engine.remove(op.queue),
          () => this.model.remove(op.queue),
        );
      case "dropGroup":
        return this.#both(
          () => this.engine.dropGroup(op.queue, op.group),
          () => this.model.dropGroup(op.queue, op.group),
        );
      case "advance":
        return this.#advance(this.now + op.ms, op.late && this.#mayBeLate(this.now + op.ms));
    }
  }

  #idsAt({ queue, partition, places }: Extract<Op, { op: "discard" }>): string[] {
    const messages = [...(this.engine.queues.get(queue)?.rings.get(partition)?.messages ?? [])];
    return places.flatMap((place) => {
      const seq = messages[place]?.seq;
      return seq === undefined ? [] : [formatMessageId({ incarnation: INCARNATION, partition, seq })];
    });
  }

  /** Takes everything down: nothing may be left behind. */
  end(): void {
    for (const id of this.#waiters.keys()) {
      this.#both(
        () => this.engine.cancel(id),
        () => this.model.cancel(id),
      );
    }
    for (const name of this.model.queues.keys()) this.run({ op: "remove", queue: name });
    this.run({ op: "advance", ms: KEY_MEMORY_MS, late: false });
    expect(this.engine.memoryBytes, "memory at the end").toBe(0);
    expect(this.engine.parkedPops, "parked pops at the end").toBe(0);
    expect(this.engine.nextDueAt, "deadlines at the end").toBe(Infinity);
  }

  #push({ queue, partition, payloads: kinds, ...options }: Extract<Op, { op: "push" }>): void {
    const payloads = kinds.map((kind) => {
      const n = this.#payloads++;
      const shapes = [`${n}`, `"${n}"`, `[ ${n} ]`, `{"n":${n},"é":"ÿ"}`, `"${n} €"`, `"😀 ${n}"`];
      return shapes[kind] ?? `${n}`;
    });
    const isAscii = payloads.every((payload) => /^[\x20-\x7e]*$/.test(payload));
    this.#both(
      () => {
        const pushed = this.engine.push(queue, partition, payloads, isAscii, options);
        return codeOf(pushed) ?? `pushed ${String(pushed)}`;
      },
      () => this.model.push(queue, partition, payloads, options),
    );
  }

  #pop(wanted: PopRequest): void {
    const request = { ...wanted };
    if (request.queue === "q1" && request.waitMs > 0) {
      request.partition = request.group === "g2" ? (request.partition ?? "Default") : null;
    }
    let answer: Batch | Refusal | null = null;
    let direct: Item[] | null = null;
    this.#waiters.set(request.waiterId, request);
    this.#both(
      () => {
        answer = this.engine.pop(request);
        if (answer instanceof Batch) direct = this.#see(request, answer);
        if (answer !== null) this.#waiters.delete(request.waiterId);
        return codeOf(answer) ?? (answer === null ? "parked" : "answered");
      },
      () => this.model.pop(request),
      () => direct,
    );
  }

  #ack({ pick, group, acks }: Extract<Op, { op: "ack" }>): void {
    const seen = recent(this.#seen, pick);
    if (seen === undefined) return;
    const picked = acks.map(({ pick: which, status, attempts, id }): Ack => {
      // Mostly what the answer held, sometimes anything else that was ever handed over.
      const item = recent(which < 80 ? seen.items : this.#seen.flatMap(({ items }) => items), which);
      let text = item?.id ?? "";
      if (id === "stale") text = text.replace(INCARNATION, "2b");
      if (id === "malformed") text = MALFORMED[which % MALFORMED.length] ?? "";
      if (attempts === "none") return { id: text, status };
      return { id: text, status, attempts: (item?.attempts ?? 1) - (attempts === "same" ? 0 : 1) };
    });
    // A wrong group now and then.
    const by = group !== null && pick % 8 === 0 ? group : seen.group;
    this.#both(
      () => this.engine.ack(seen.queue, by, picked),
      () => this.model.ack(seen.queue, by, picked),
    );
  }

  /**
   * Late timers replay leases and parked pops in the order in which they were due. What lateness means for windows, and
   * for the order in which idle things go, is nobody's rule: these are tried with timers on time.
   */
  #mayBeLate(target: number): boolean {
    const windows = [...this.model.queues.values()].map(({ options }) => options.windowBuffer);
    return this.model.quietUntil > target && windows.every(({ ms, count }) => ms === 0 && count === 0);
  }

  #advance(target: number, late: boolean): void {
    if (!late) this.#stepUpTo(target);
    this.#step(target);
  }

  /** Every timer on time, the engine's and the model's. */
  #stepUpTo(target: number): void {
    for (let steps = 0; steps < 1000; steps++) {
      const due = Math.min(this.engine.nextDueAt, this.model.nextAt);
      if (due >= target) return;
      this.#step(Math.max(due, this.now));
    }
    throw new Error(`the clock does not get past ${this.now}`);
  }

  #step(now: number): void {
    this.now = now;
    this.#both(
      () => this.engine.advance(now),
      () => this.model.advance(now),
    );
    if (this.engine.nextDueAt <= now) throw new Error(`something due at ${this.engine.nextDueAt} was left at ${now}`);
  }

  #both<T>(onEngine: () => T, onModel: () => T, direct: () => Item[] | null = () => null): void {
    idleCursors.mockClear();
    const fromEngine = onEngine();
    const idle = idleCursors.mock.calls.map(([{ ring, group }]) =>
      readerKey(ring.queue.name, ring.partition, group.name),
    );
    const answers = this.#newAnswers();
    const hasPartition = (queue: string, partition: string) =>
      this.engine.queues.get(queue)?.rings.has(partition) ?? false;
    const choices: Choices = { direct: direct(), answers, hasPartition, idle };
    this.model.adopt(choices);
    const fromModel = onModel();
    same(fromEngine, fromModel, "answer");
    same([...answers.keys()], [], "parked pops that should still wait");
    this.#compare();
  }

  #newAnswers(): Map<string, Item[]> {
    const answers = new Map<string, Item[]>();
    for (const { waiterId, batch } of this.bench.effects.answers.slice(this.#answered)) {
      const request = this.#waiters.get(waiterId);
      if (request === undefined) throw new Error(`${waiterId} was not waiting`);
      this.#waiters.delete(waiterId);
      answers.set(waiterId, this.#see(request, batch));
    }
    this.#answered = this.bench.effects.answers.length;
    return answers;
  }

  #see({ queue, group }: PopRequest, batch: Batch): Item[] {
    const items = batch.items.map((text): Item => ({ ...(JSON.parse(text) as Omit<Item, "text">), text }));
    if (items.length > 0) this.#seen.push({ queue, group, handed: batch.handed, items });
    return items;
  }

  #compare(): void {
    const { engine, model } = this;
    same([...engine.queues.keys()].sort(), [...model.queues.keys()].sort(), "queues");
    for (const [name, queue] of engine.queues) {
      const known = model.queues.get(name);
      if (known === undefined) continue;
      const share = shareOf(queue);
      const partitions = [...known.partitions.keys()];
      const held = heldIn(known);
      const expectedShare: typeof share = {
        queue: name,
        declared: known.declared,
        isHome: true,
        depth: held.length,
        bytes: bytesOf(held),
        partitions: partitions.length,
        groups: [...known.groups.keys()].sort(),
        drops: known.drops,
        options: known.options,
      };
      same({ ...share, groups: share.groups.sort() }, expectedShare, name);
      const groups = [...known.groups.values()].map(({ name: group, skipped }) => ({
        group,
        pending: model.pending(known, group),
        skipped,
      }));
      same(byName(groupDepths(queue)), byName(groups), `groups of ${name}`);
      for (const group of [...GROUPS, "nobody"]) {
        const expected = PARTITIONS.filter((partition) => known.partitions.has(partition)).map((partition) => ({
          partition,
          pending: model.pendingIn(known, partition, group),
          bytes: bytesOf(known.partitions.get(partition)?.held ?? []),
        }));
        const depths = partitionDepths(queue, group);
        depths.sort((a, b) => PARTITIONS.indexOf(a.partition) - PARTITIONS.indexOf(b.partition));
        same(depths, expected, `partitions of ${name} for ${group}`);
      }
    }
    same(engine.memoryBytes, model.memoryBytes, "memory");
    same(engine.parkedPops, model.parked.length, "parked pops");
    same(engine.counters, model.counters, "counters");
  }
}

/** Compares as text first: `expect` alone would take most of the run's time. */
function same<T>(actual: T, expected: T, what: string): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual, what).toEqual(expected);
}

function byName<T extends { group: string }>(depths: T[]): T[] {
  return depths.sort((a, b) => (a.group < b.group ? -1 : 1));
}

/** One of the last few, by a number. */
function recent<T>(items: readonly T[], pick: number): T | undefined {
  return items.length === 0 ? undefined : items.at(-1 - (pick % Math.min(items.length, 8)));
}
