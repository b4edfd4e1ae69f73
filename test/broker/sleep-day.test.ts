import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { DeclaredOptions } from "../../src/contract/options.ts";
import { Batch } from "../../src/engine/batch.ts";
import { Engine } from "../../src/engine/engine.ts";
import { Journal } from "../../src/objects/journal.ts";
import { Life } from "../../src/objects/life.ts";
import { Recorder, SETTINGS } from "../engine/harness.ts";
import { FakeDisk } from "../engine/restarts.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** An object without a timer is dropped from memory after about this long. */
const EVICTION_MS = 10 * SECOND;

/** An owner's object and its alarm, on a clock that the test moves: evicted and woken as the platform does it. */
class SimulatedOwner {
  readonly disk = new FakeDisk();
  /** When alarms fired, and how often one was set. */
  readonly fired: number[] = [];
  alarmsSet = 0;
  starts = 0;
  alarmAt: number | null = null;
  /** What the next turns that a timer or an alarm makes throw. */
  failures: Error[] = [];
  checkpointMs: number;
  #alive: { engine: Engine; life: Life } | null = null;
  #quietSince = 0;
  readonly #declared = new Map<string, DeclaredOptions>();

  constructor(checkpointMs = 1000) {
    this.checkpointMs = checkpointMs;
  }

  get storage(): DurableObjectStorage {
    const alarms = {
      getAlarm: async () => this.alarmAt,
      setAlarm: async (at: number) => {
        this.alarmAt = at;
        this.alarmsSet++;
      },
      deleteAlarm: async () => {
        this.alarmAt = null;
        this.alarmsSet++;
      },
      sync: async () => this.disk.sync(),
    };
    return Object.assign(this.disk.storage, alarms);
  }

  get isAwake(): boolean {
    return this.#alive !== null;
  }

  #wake(): { engine: Engine; life: Life } {
    if (this.#alive !== null) return this.#alive;
    this.starts++;
    const engine = new Engine({
      incarnation: this.starts.toString(16),
      settings: SETTINGS,
      effects: new Recorder(),
      isHome: () => true,
      isHere: () => true,
      hasRoom: () => true,
    });
    const { storage } = this;
    const journal = new Journal(storage, engine);
    const life: Life = new Life(storage, engine, journal, {
      name: "owner-0",
      checkpointMs: this.checkpointMs,
      wake: () => {
        const failure = this.failures.shift();
        if (failure !== undefined) throw failure;
        engine.advance(Date.now());
        life.tick();
      },
    });
    this.#alive = { engine, life };
    // The first thing that an owner does is to load its declarations, in a turn of its own.
    for (const [queue, options] of this.#declared) engine.configure(queue, options);
    life.settle();
    return this.#alive;
  }

  declare(queue: string, options: DeclaredOptions): void {
    this.#declared.set(queue, options);
    this.request((engine) => engine.configure(queue, options));
  }

  request<T>(act: (engine: Engine) => T): T {
    const { engine, life } = this.#wake();
    engine.advance(Date.now());
    const result = act(engine);
    life.settle();
    this.#quietSince = now;
    return result;
  }

  push(queue: string, payloads: readonly string[]): void {
    this.request((engine) => engine.push(queue, "p", payloads, true));
  }

  /** Takes messages for good. */
  consume(queue: string, group: string, batch = 100): number {
    const request = { queue, partition: "p", group, batch, autoAck: true, waitMs: 0, waiterId: "" };
    const answer = this.request((engine) => engine.pop(request));
    return answer instanceof Batch ? answer.count : 0;
  }

  lease(queue: string, group: string): void {
    const request = { queue, partition: "p", group, batch: 1, autoAck: false, waitMs: 0, waiterId: "" };
    this.request((engine) => engine.pop(request));
  }

  /** It crashes: no clean end, and the timers go with it. */
  crash(): void {
    this.disk.sync();
    timers.clear();
    this.#alive = null;
  }

  async pass(ms: number): Promise<void> {
    const until = now + ms;
    for (;;) {
      await settled();
      const evictAt = this.#alive === null || timers.size > 0 ? Infinity : this.#quietSince + EVICTION_MS;
      const at = Math.min(nextTimerAt(), this.alarmAt ?? Infinity, evictAt);
      if (at > until) break;
      now = Math.max(now, at);
      if (at === this.alarmAt) {
        this.alarmAt = null;
        this.fired.push(now);
        await this.#wake().life.alarm(async () => {});
      } else if (at === evictAt) this.crash();
      else runTimer();
      if (timers.size > 0) this.#quietSince = now;
    }
    now = until;
  }
}

let now = 0;
let timers = new Map<number, { at: number; run: () => void }>();
let named = 0;

function nextTimerAt(): number {
  return Math.min(Infinity, ...Array.from(timers.values(), ({ at }) => at));
}

function runTimer(): void {
  for (const [id, { at, run }] of timers) {
    if (at > now) continue;
    timers.delete(id);
    try {
      run();
    } catch {
      // The runtime logs it and goes on.
    }
    return;
  }
}

/** Lets what has been started go as far as it gets without a timer. */
async function settled(): Promise<void> {
  for (let i = 0; i < 8; i++) await Promise.resolve();
}

beforeEach(() => {
  now = 0;
  timers = new Map();
  vi.spyOn(Date, "now").mockImplementation(() => now);
  vi.stubGlobal("setTimeout", (run: () => void, ms: number) => {
    timers.set(++named, { at: now + ms, run });
    return named;
  });
  vi.stubGlobal("clearTimeout", (id: number) => timers.delete(id));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

it("an owner that has been used and holds nothing is left alone for a day", async () => {
  const owner = new SimulatedOwner();
  owner.declare("declared", {});
  owner.push("declared", ["1"]);
  owner.push("implicit", ["1"]);
  await owner.pass(2 * SECOND);
  expect(owner.consume("declared", "g")).toBe(1);
  expect(owner.consume("implicit", "g")).toBe(1);
  // Until the group has been silent for long enough to be forgotten.
  await owner.pass(2 * HOUR);
  const { length } = owner.fired;
  expect(length).toBeLessThanOrEqual(4);
  const rows = owner.disk.rowsWritten;
  await owner.pass(24 * HOUR);
  expect(owner.fired.length - length).toBe(0);
  expect(owner.disk.rowsWritten - rows).toBe(0);
  expect(owner.alarmAt).toBeNull();
  expect(owner.isAwake).toBe(false);
});

it("an owner that is busy all day sees an alarm every 5 minutes at the most", { timeout: 30_000 }, async () => {
  const owner = new SimulatedOwner();
  const hours = 4;
  for (let second = 0; second < hours * 3600; second += 2) {
    owner.push("busy", ["1", "2"]);
    owner.consume("busy", "g", 1);
    await owner.pass(2 * SECOND);
    if (second % 600 === 0) owner.consume("busy", "g");
  }
  expect(owner.fired.length).toBeLessThanOrEqual(hours * 12);
  expect(owner.alarmsSet).toBeLessThanOrEqual(hours * 12 + 1);
  expect(owner.starts).toBe(1);
  // A checkpoint a second at the most.
  expect(owner.disk.rowsWritten).toBeLessThanOrEqual(hours * 3600 * 2);
});

it("a backlog that waits wakes its owner at its deadlines alone", async () => {
  const owner = new SimulatedOwner();
  owner.declare("aging", { ttlSeconds: 6 * 3600, groupIdleSeconds: 0 });
  const deadlines = 3;
  for (let i = 0; i < deadlines; i++) {
    owner.push("aging", ["1"]);
    await owner.pass(HOUR);
  }
  owner.lease("aging", "g");
  await owner.pass(24 * HOUR - deadlines * HOUR);
  const drops = owner.request((engine) => engine.queues.get("aging")?.drops.ttl);
  expect(drops).toBe(deadlines);
  // Each deadline, and the looks whether the partition is idle: the first was set before anything had been pushed.
  const due = Array.from({ length: deadlines }, (_, i) => (i + 6) * HOUR);
  const { implicitIdleMs } = SETTINGS;
  expect(owner.fired).toEqual([implicitIdleMs, ...due, (due.at(-1) ?? 0) + implicitIdleMs]);
  // Each time it is used or woken, one for the case of a crash and one for its next sleep.
  const times = deadlines + 1 + owner.fired.length;
  expect(owner.alarmsSet).toBeLessThanOrEqual(2 * times);
});

it("an alarm brings an owner back that crashed while it might have lost something", async () => {
  const owner = new SimulatedOwner();
  owner.push("q", ["1"]);
  await owner.pass(2 * SECOND);
  expect(owner.alarmAt).not.toBeNull();
  owner.crash();
  await owner.pass(5 * MINUTE);
  expect(owner.starts).toBe(2);
  expect(owner.request((engine) => engine.queues.get("q")?.length)).toBe(1);
});

it("an alarm that fails is set again, and does what was due once it can", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const owner = new SimulatedOwner();
  owner.declare("aging", { ttlSeconds: 3600 });
  owner.push("aging", ["1"]);
  await owner.pass(50 * MINUTE);
  expect(owner.isAwake).toBe(false);
  owner.failures = Array.from({ length: 20 }, () => new Error("not now"));
  await owner.pass(12 * MINUTE);
  // 10 s apart, from the first that was due; the platform itself would have given up after six.
  expect(owner.fired.length).toBeGreaterThan(6);
  expect(owner.fired.length).toBeLessThanOrEqual(25);
  expect(owner.request((engine) => engine.queues.get("aging")?.drops.ttl)).toBe(1);
});

it("a lease out keeps an owner awake, for as long as it runs and no longer", async () => {
  const owner = new SimulatedOwner();
  owner.declare("q", { leaseSeconds: 3600 });
  owner.push("q", ["1"]);
  owner.lease("q", "g");
  await owner.pass(59 * MINUTE);
  expect([owner.isAwake, owner.starts]).toEqual([true, 1]);
  await owner.pass(2 * MINUTE);
  expect(owner.isAwake).toBe(false);
  expect(owner.consume("q", "g")).toBe(1);
});

it("an owner that keeps everything in memory stays awake for as long as it holds anything", async () => {
  const owner = new SimulatedOwner(0);
  owner.push("q", ["1"]);
  await owner.pass(4 * HOUR);
  expect([owner.isAwake, owner.starts]).toEqual([true, 1]);
  expect(owner.consume("q", "__QUEUE_MODE__")).toBe(1);
  await owner.pass(HOUR);
  expect(owner.isAwake).toBe(false);
  expect([owner.disk.rowsWritten, owner.alarmsSet]).toEqual([0, 0]);
});

it("what was written before checkpoints were switched off is taken over once", async () => {
  const owner = new SimulatedOwner();
  owner.push("q", ["1"]);
  await owner.pass(2 * SECOND);
  owner.crash();
  owner.checkpointMs = 0;
  expect(owner.consume("q", "g")).toBe(1);
  owner.crash();
  expect(owner.consume("q", "g")).toBe(0);
  expect(owner.disk.rows.size).toBe(0);
});
