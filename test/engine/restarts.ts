import { expect } from "vitest";
import { QUEUE_MODE } from "../../src/contract/limits.ts";
import type { EngineSettings } from "../../src/contract/options.ts";
import { Batch, type Handed } from "../../src/engine/batch.ts";
import { Segment } from "../../src/engine/ledger.ts";
import { messagesOf } from "../../src/engine/stored.ts";
import { Engine, type Ack } from "../../src/engine/engine.ts";
import { Journal, type LastLife } from "../../src/objects/journal.ts";
import { partsIn, type Row } from "../../src/objects/rows.ts";
import { describe, memoryOf, owed, times, type Described } from "./described.ts";
import { delivered, Recorder, SETTINGS, type Delivered } from "./harness.ts";
import type { Op } from "./ops.ts";

/** What a row may take on the disk, key included. */
const MAX_ROW_BYTES = 2_000_000;

type Change = { key: string; row: Row | null };

/**
 * The part of an object's storage that the journal uses, over memory. Writes of one turn become durable as a whole, at
 * the latest when the next turn writes; until then a crash may take them.
 */
export class FakeDisk {
  readonly rows = new Map<string, Row>();
  rowsWritten = 0;
  /** How often each payload reached the disk. */
  readonly payloads = new Map<string, number>();
  #pending: Change[] = [];

  get storage(): DurableObjectStorage {
    const disk = {
      kv: { list: ({ prefix }: { prefix: string }) => this.#list(prefix) },
      put: async (entries: Record<string, Row>) => {
        for (const [key, row] of Object.entries(entries)) this.#change({ key, row: structuredClone(row) });
      },
      delete: async (keys: string[]) => {
        for (const key of keys) this.#change({ key, row: null });
      },
    };
    return disk as unknown as DurableObjectStorage;
  }

  sync(): void {
    for (const { key, row } of this.#pending) {
      if (row === null) {
        this.rows.delete(key);
        continue;
      }
      this.rows.set(key, row);
      for (const payload of payloadsIn(row)) {
        // A large one lies in pieces beside its part.
        if (payload === "") continue;
        this.payloads.set(payload, (this.payloads.get(payload) ?? 0) + 1);
      }
    }
    this.#pending = [];
  }

  /** The last turn's writes never made it. */
  lose(): void {
    this.#pending = [];
  }

  #change(change: Change): void {
    if (change.row !== null) {
      this.rowsWritten++;
      const bytes = storedBytes(change.row);
      if (bytes > MAX_ROW_BYTES) throw new Error(`a row of ${bytes} bytes cannot be written`);
    }
    this.#pending.push(change);
  }

  *#list(prefix: string): Generator<[string, Row]> {
    for (const key of [...this.rows.keys()].sort()) {
      if (key.startsWith(prefix)) yield [key, structuredClone(this.rows.get(key) as Row)];
    }
  }
}

export function payloadsIn(row: Row): string[] {
  return Array.from(messagesOf(partsIn(row, new Segment([]))), ({ payload }) => payload);
}

/** What a plain value takes in the format that storage uses, rounded up. */
export function storedBytes(value: unknown): number {
  if (typeof value === "string") return 6 + (/^[\0-\xff]*$/.test(value) ? 1 : 2) * value.length;
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) < 2 ** 30 ? 6 : 9;
  if (ArrayBuffer.isView(value)) return 24 + value.byteLength;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + storedBytes(item), 12);
  if (typeof value !== "object" || value === null) return 1;
  return Object.entries(value).reduce((sum, [key, item]) => sum + storedBytes(key) + storedBytes(item), 12);
}

interface Seen {
  queue: string;
  group: string;
  handed: readonly Handed[];
  items: Delivered[];
}

const NOTHING: Described = describe(
  new Engine({
    incarnation: "0",
    settings: SETTINGS,
    effects: new Recorder(),
    isHome: () => true,
    isHere: () => true,
    hasRoom: () => true,
  }),
);

/** An owner without a runtime: the engine and its journal, over a disk that outlives them. */
export class Restarts {
  readonly disk = new FakeDisk();
  readonly settings: EngineSettings;
  engine: Engine;
  journal: Journal;
  lastLife: LastLife;
  now = 0;
  restarts = 0;
  /** How things stood at the last checkpoint that is on the disk, and at the last that is on its way there. */
  #durable = { described: NOTHING, times: {} as ReturnType<typeof times> };
  #written = this.#durable;
  #effects = new Recorder();
  #answered = 0;
  #pops = 0;
  #payloads = 0;
  #seen: Seen[] = [];
  readonly #parked = new Map<string, { queue: string; group: string }>();

  constructor(settings: Partial<EngineSettings> = {}) {
    this.settings = { ...SETTINGS, ...settings };
    ({ engine: this.engine, journal: this.journal, lastLife: this.lastLife } = this.#start());
  }

  #start(effects = this.#effects) {
    const engine = new Engine({
      incarnation: (0x1a2b + this.restarts).toString(16),
      settings: this.settings,
      effects,
      isHome: () => true,
      isHere: () => true,
      hasRoom: () => true,
    });
    const journal = new Journal(this.disk.storage, engine);
    const lastLife = journal.restore(this.now);
    return { engine, journal, lastLife };
  }

  push(payloads: readonly string[], { queue = "q", partition = "p", key = "" } = {}): void {
    const options = key === "" ? {} : { key };
    expect(this.engine.push(queue, partition, payloads, false, options)).toBe(payloads.length);
  }

  pop(request: { queue?: string; partition?: string | null; group?: string; batch?: number; autoAck?: boolean } = {}) {
    const { queue = "q", partition = "p", group = QUEUE_MODE, batch = 10_000, autoAck = false } = request;
    const waiterId = `w${this.#pops++}`;
    const answer = this.engine.pop({ queue, partition, group, batch, autoAck, waitMs: 0, waiterId });
    if (!(answer instanceof Batch)) throw new Error(`not answered: ${JSON.stringify(answer)}`);
    return delivered(answer);
  }

  ack(messages: readonly Delivered[], { queue = "q", group = QUEUE_MODE } = {}): void {
    const acks = messages.map(({ id }): Ack => ({ id, status: "completed" }));
    for (const outcome of this.engine.ack(queue, group, acks)) expect(outcome).toBe("acked");
  }

  checkpoint(open = true): void {
    this.disk.sync();
    this.#durable = this.#written;
    this.journal.write(this.now, open);
    expect(this.engine.ledger.isClean, "nothing is left to be written").toBe(true);
    this.#written = { described: describe(this.engine), times: times(this.engine) };
  }

  /** A checkpoint that is waited for. */
  flush(): void {
    this.checkpoint();
    this.disk.sync();
    this.#durable = this.#written;
  }

  /** Everything in memory goes, perhaps with the last writes, and the owner starts again from the disk. */
  crash({ losingLastWrite = false, downMs = 0 } = {}): void {
    if (losingLastWrite) this.disk.lose();
    this.disk.sync();
    const { described, times: noted } = losingLastWrite ? this.#durable : this.#written;
    this.#durable = this.#written = { described, times: noted };
    this.now += downMs;
    this.restart();
    same(describe(this.engine), described, "what the last checkpoint held");
    same(this.engine.memoryBytes, memoryOf(described), "memory");
    expect(this.engine.ledger.isClean, "nothing that was read back has to be written").toBe(true);
    this.#wakeTwin(described);
    expect(this.engine.isQuiet, "nobody holds or waits for anything").toBe(true);
    if (!this.lastLife.wasOpen) same(times(this.engine), noted, "times after a clean end");
    for (const [payload, times_] of this.disk.payloads) expect(times_, `writes of ${payload}`).toBe(1);
  }

  /** What a partition says of itself while it rests must be what it is once it is awake. */
  #wakeTwin(described: Described): void {
    const { engine } = this.#start(new Recorder());
    const dueAt = engine.nextDueAt;
    for (const { rings } of engine.queues.values()) rings.wakeIf(() => true);
    same(describe(engine), described, "what comes of it when it is woken");
    same(engine.memoryBytes, memoryOf(described), "memory when it is woken");
    same(engine.nextDueAt, dueAt, "the first deadline");
    expect(engine.ledger.isClean, "to wake is no news").toBe(true);
  }

  restart(): void {
    this.disk.sync();
    this.restarts++;
    this.#answered = 0;
    this.#parked.clear();
    this.#effects = new Recorder();
    ({ engine: this.engine, journal: this.journal, lastLife: this.lastLife } = this.#start());
  }

  /** A clean end, if nobody holds or waits for anything, and the next start. Answers whether it was one. */
  sleep(downMs = 0): boolean {
    if (!this.engine.isQuiet) return false;
    if (!this.engine.ledger.isClean) this.checkpoint();
    this.checkpoint(false);
    this.crash({ downMs });
    expect(this.lastLife).toEqual({ wasOpen: false, lastCheckpointAt: this.now - downMs });
    return true;
  }

  /** Takes everything that each group is owed, through pops: it must be what is described. */
  drain(): void {
    for (const queue of this.engine.queues.values()) {
      for (const ring of queue.rings.values()) {
        for (const [group, cursor] of ring.cursors) {
          const expected = owed(cursor);
          expect(cursor.pending).toBe(expected.length);
          const request = { queue: queue.name, partition: ring.partition, group, autoAck: true };
          const taken = this.pop(request).map(({ payload, attempts }) => ({ payload, attempts }));
          const wanted = expected.map(([text, attempts]) => ({ payload: JSON.parse(text) as unknown, attempts }));
          same(taken, wanted, `${queue.name} ${ring.partition} for ${group}`);
          expect(this.pop(request)).toEqual([]);
        }
        if (ring.cursors.size > 0) expect([ring.messages.size, ring.bytes, ring.stored]).toEqual([0, 0, 0]);
      }
    }
  }

  run(op: Op): void {
    this.engine.advance(this.now);
    this.#run(op);
    this.#hear();
  }

  #run(op: Op): void {
    const { engine } = this;
    switch (op.op) {
      case "push":
        engine.push(op.queue, op.partition, this.#texts(op.payloads), false, op);
        return;
      case "pop": {
        const waiterId = `w${this.#pops++}`;
        this.#parked.set(waiterId, op);
        const answer = engine.pop({ ...op, waiterId });
        if (answer instanceof Batch) this.#see(waiterId, answer);
        return;
      }
      case "ack": {
        const seen = recent(this.#seen, op.pick);
        if (seen === undefined) return;
        const acks = op.acks.map(({ pick, status }): Ack => ({ id: recent(seen.items, pick)?.id ?? "", status }));
        engine.ack(seen.queue, seen.group, acks);
        return;
      }
      case "release": {
        const seen = recent(this.#seen, op.pick);
        // A release is of the same life as the delivery.
        if (seen !== undefined && seen.items[0]?.id.startsWith(`e:${(0x1a2b + this.restarts).toString(16)}:`)) {
          engine.release(seen.queue, seen.group, seen.handed);
        }
        return;
      }
      case "cancel":
        engine.cancel(recent([...this.#parked.keys()], op.pick) ?? "nobody");
        return;
      case "configure":
        engine.configure(op.queue, op.options);
        return;
      case "reset":
        engine.reset(op.queue);
        return this.#flushIfChanged();
      case "remove":
        engine.remove(op.queue);
        return this.#flushIfChanged();
      case "dropGroup":
        engine.dropGroup(op.queue, op.group);
        return this.#flushIfChanged();
      case "advance":
        for (let due = engine.nextDueAt; due < this.now + op.ms && !op.late; due = engine.nextDueAt) {
          engine.advance(Math.max(due, this.now));
          this.#hear();
        }
        this.now += op.ms;
        engine.advance(this.now);
    }
  }

  /** What drops something is answered once the disk knows of it. */
  #flushIfChanged(): void {
    if (!this.engine.ledger.isClean) this.flush();
  }

  #texts(kinds: readonly number[]): string[] {
    return kinds.map((kind) => {
      const n = this.#payloads++;
      const shapes = [`${n}`, `"${n}"`, `[ ${n} ]`, `{"n":${n},"é":"ÿ"}`, `"${n} €"`, `"😀 ${n}"`];
      return shapes[kind] ?? `${n}`;
    });
  }

  #hear(): void {
    const { answers } = this.#effects;
    for (const { waiterId, batch } of answers.slice(this.#answered)) this.#see(waiterId, batch);
    this.#answered = answers.length;
  }

  #see(waiterId: string, batch: Batch): void {
    const request = this.#parked.get(waiterId);
    this.#parked.delete(waiterId);
    if (request === undefined || batch.count === 0) return;
    this.#seen.push({ queue: request.queue, group: request.group, handed: batch.handed, items: delivered(batch) });
  }
}

/** Compares as text first: `expect` alone would take most of the run's time. */
export function same<T>(actual: T, expected: T, what: string): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual, what).toEqual(expected);
}

/** One of the last few, by a number. */
function recent<T>(items: readonly T[], pick: number): T | undefined {
  return items.length === 0 ? undefined : items.at(-1 - (pick % Math.min(items.length, 8)));
}
