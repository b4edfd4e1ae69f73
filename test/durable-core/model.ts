import { expect } from "vitest";
import type { ConsumerConfig, QueueConfig } from "../../src/contract/queue-config.ts";
import type { Delivery, Flight } from "../../src/durable/cursor.ts";
import { Partition } from "../../src/durable/partition.ts";
import type { Verdict } from "../../src/durable/push.ts";
import type { EjectedPage } from "../../src/durable/moment.ts";
import { MOMENT_MS } from "../../src/durable/moments.ts";
import type { ImportedMessage, Settlement, StoredMessage } from "../../src/durable/message.ts";
import { packMessages } from "../../src/durable/content.ts";
import { parseRef } from "../../src/durable/refs.ts";
import { config, DEAD_LETTERS, PULL, WORKER, type Disk } from "./disk.ts";
import { bookedMoment, noteEnd, notePage, numberOf, type BookedMoment } from "./moment-book.ts";

/** Something that happens to a partition. `lost` = the process is killed before the turn's writes reach the disk. */
export type Op =
  | { op: "send"; count: number; delays: (number | null)[]; lost: boolean }
  | { op: "import"; attempts: number[]; dues: (number | null)[]; known: number; lost: boolean }
  | { op: "hand"; limit: number; lost: boolean }
  | { op: "finish"; pick: number; how: ("ack" | "retry" | "later")[]; threw: boolean; lost: boolean }
  | { op: "unreachable"; pick: number; lost: boolean }
  | { op: "pull"; limit: number; lost: boolean }
  | { op: "settle"; pick: number; retry: boolean; lost: boolean }
  | { op: "letters"; arrives: boolean; known: boolean }
  | { op: "advance"; ms: number }
  | { op: "restart" }
  | { op: "purge"; pick: number }
  | { op: "purgeAll" }
  | { op: "eject"; lost: boolean }
  | { op: "page"; pick: number; maxBytes: number; arrives: boolean; drains: boolean; lost: boolean }
  | { op: "declare"; consumers: number; paused: boolean; maxRetries: number; concurrency: number; waitMs: number };

/** What one consumer is owed of one message. */
interface Owed {
  /** Deliveries that have certainly taken place. */
  attempts: number;
  state: "waits" | "out" | "leased" | "dead";
}

interface Out {
  flight: Flight;
  messages: StoredMessage[];
  consumer: string;
}

interface Lease {
  leaseId: string;
  message: number;
  consumer: string;
}

const RETENTION_S = 1_209_600;
const DELAYED = 5;
/** Fewer than a partition bears. */
const MOMENTS = 3;

/** A partition and a naive book of what must be true of it, one operation at a time. */
export class Run {
  readonly #disk: Disk;
  #now = 1_700_000_000_000;
  #partition: Partition;
  #config: QueueConfig;
  #sent = 0;
  /** Messages that are held: who is owed them. */
  readonly #held = new Map<number, Map<string, Owed>>();
  #flights: Out[] = [];
  #leases: Lease[] = [];
  readonly #arrived = new Set<string>();
  #lastLetter = new Map<string, number>();
  /** Highest first delivery by consumer: first deliveries come in the order of sends, delayed ones aside. */
  readonly #firsts = new Map<string, number>();
  readonly #delayed = new Set<number>();
  readonly #imported: ImportedMessage[] = [];
  /** Deliveries before the import. */
  readonly #before = new Map<number, number>();
  #consumers: ConsumerConfig[] = [];
  #moments: BookedMoment[] = [];

  /** What was said to be dropped and is not in the book yet. */
  readonly #said: { id: string; consumer: string }[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(disk: Disk) {
    this.#disk = disk;
    disk.wipe();
    this.#config = config([], { retentionSeconds: RETENTION_S });
    this.#partition = this.#open();
  }

  #open(): Partition {
    return new Partition(this.#disk.open(), "Default", this.#config, this.#now, {
      log: (event, details) => {
        if (event === "message_dropped") this.#said.push(details as { id: string; consumer: string });
      },
    });
  }

  run(op: Op): void {
    switch (op.op) {
      case "send":
        return this.#send(op.count, op.delays, op.lost);
      case "import":
        return this.#import(op);
      case "hand":
        return this.#hand(op.limit, op.lost);
      case "finish":
        return this.#finish(op);
      case "unreachable":
        return this.#unreachable(op.pick, op.lost);
      case "pull":
        return this.#pull(op.limit, op.lost);
      case "settle":
        return this.#settle(op.pick, op.retry, op.lost);
      case "letters":
        return this.#letters(op.arrives, op.known);
      case "advance":
        this.#now += op.ms;
        return;
      case "restart":
        return this.#restart();
      case "purge":
        return this.#purge(op.pick);
      case "purgeAll":
        return this.#purgeAll();
      case "eject":
        return this.#eject(op.lost);
      case "page":
        return this.#page(op);
      case "declare":
        return this.#declare(op);
    }
  }

  /** A turn, and perhaps the end of the process before it is durable. Answers whether it took place. */
  #turn(act: () => void, lost: boolean): boolean {
    if (!lost) {
      act();
      this.#partition.save();
      return true;
    }
    this.#disk.lost(() => {
      act();
      this.#partition.save();
    });
    this.#said.length = 0;
    this.#restart();
    return false;
  }

  /** Whatever was out has had that delivery, and is owed again. */
  #restart(): void {
    for (const owed of this.#everyOwed()) if (owed.state === "out") owed.state = "waits";
    this.#flights = [];
    for (const moment of this.#moments) moment.isLost = true;
    this.#partition = this.#open();
    this.#check();
  }

  *#everyOwed(): Generator<Owed> {
    for (const by of this.#held.values()) yield* by.values();
  }

  #send(count: number, delays: (number | null)[], lost: boolean): void {
    const numbers = Array.from({ length: count }, (_, i) => this.#sent + i);
    const drafts = numbers.map((body, i) => ({ body, delaySeconds: delays[i] === null ? undefined : delays[i] }));
    const deliveries: Delivery[] = [];
    const done = this.#turn(() => {
      this.#partition.send([packMessages(drafts)], this.#now, () => true);
      deliveries.push(...this.#partition.handOver(this.#now, () => false));
    }, lost);
    this.#sent += count;
    if (!done) return;
    numbers.forEach((number, i) => {
      this.#held.set(number, new Map(this.#consumers.map(({ name }) => [name, { attempts: 0, state: "waits" }])));
      if ((delays[i] ?? 0) > 0) this.#delayed.add(number);
    });
    this.#left(deliveries);
    this.#check();
  }

  /** An import, repeated after it was lost, or together with what came before it: each message comes in once. */
  #import({ attempts, dues, known, lost }: Extract<Op, { op: "import" }>): void {
    const fresh = attempts.map((count, i): ImportedMessage => {
      const body = new TextEncoder().encode(String(this.#sent + i));
      const id = `import-${this.#sent + i}`;
      const message = { id, sentAt: this.#now, attempts: count, type: "json" as const, body, origin: null };
      const due = dues[i] ?? null;
      return { number: this.#sent + i + 1, message, dueAt: due === null ? null : this.#now + due };
    });
    const all = [...this.#imported.slice(Math.max(0, this.#imported.length - known)), ...fresh];
    const act = () => expect(this.#partition.import("file", all, this.#now)).toBe(fresh.length);
    if (!this.#turn(act, lost)) this.#turn(act, false);
    this.#turn(() => expect(this.#partition.import("file", all, this.#now), "a repeat").toBe(0), false);
    this.#sent += fresh.length;
    this.#imported.push(...fresh);
    for (const { message, dueAt } of fresh) {
      const number = numberOf(message);
      const owed = (): Owed => ({ attempts: message.attempts, state: "waits" });
      this.#before.set(number, message.attempts);
      this.#held.set(number, new Map(this.#consumers.map(({ name }) => [name, owed()])));
      if (dueAt !== null && dueAt > this.#now) this.#delayed.add(number);
    }
    this.#check();
  }

  #hand(limit: number, lost: boolean): void {
    const deliveries: Delivery[] = [];
    let left = limit;
    const done = this.#turn(() => deliveries.push(...this.#partition.handOver(this.#now, () => left-- > 0)), lost);
    if (!done) return;
    this.#left(deliveries);
    this.#check();
  }

  /** Batches have left: each message was owed, and this is the delivery that it says. */
  #left(deliveries: readonly Delivery[]): void {
    for (const { flight, messages } of deliveries) {
      const consumer = flight.cursor.consumer?.name ?? "";
      expect(messages.length).toBe(flight.entries.length);
      expect(messages.length).toBeGreaterThan(0);
      for (const message of messages) this.#delivered(message, consumer, "out");
      this.#flights.push({ flight, messages, consumer });
    }
    for (const consumer of this.#consumers) {
      const out = this.#flights.filter(({ consumer: whose }) => whose === consumer.name).length;
      const isNew = deliveries.some(({ flight }) => flight.cursor.consumer?.name === consumer.name);
      if (isNew && consumer.type !== "http_pull") expect(out).toBeLessThanOrEqual(consumer.maxConcurrency);
    }
  }

  #delivered(message: StoredMessage, consumer: string, state: "out" | "leased"): number {
    const number = numberOf(message);
    const owed = this.#held.get(number)?.get(consumer);
    expect(owed, `message ${number} was owed to ${consumer}`).toBeDefined();
    if (owed === undefined) return number;
    expect(owed.state, `message ${number}`).not.toBe("out");
    owed.attempts++;
    owed.state = state;
    expect(message.attempts, `attempts of ${number} at ${consumer}`).toBe(owed.attempts);
    expect(owed.attempts).toBeLessThanOrEqual(this.#limitOf(consumer) + 1);
    if (owed.attempts === 1 && !this.#delayed.has(number)) {
      expect(number, "first deliveries in order").toBeGreaterThan(this.#firsts.get(consumer) ?? -1);
      this.#firsts.set(consumer, number);
    }
    return number;
  }

  #limitOf(consumer: string): number {
    return this.#consumers.find(({ name }) => name === consumer)?.maxRetries ?? Infinity;
  }

  /** What the broker says that it has dropped. */
  #noteDropped(): void {
    for (const { id, consumer } of this.#said.splice(0)) {
      const number = this.#numbers.get(id) ?? -1;
      const owed = this.#held.get(number)?.get(consumer);
      expect(owed?.attempts, `${number} had its last delivery at ${consumer}`).toBeGreaterThan(this.#limitOf(consumer));
      this.#held.get(number)?.delete(consumer);
      this.#forgetSettled(number);
    }
  }

  #forgetSettled(number: number): void {
    const by = this.#held.get(number);
    if (by?.size === 0 && this.#consumers.length > 0) this.#held.delete(number);
  }

  #pickFlight(pick: number) {
    return this.#flights.length === 0 ? undefined : this.#flights[pick % this.#flights.length];
  }

  #finish({ pick, how, threw, lost }: Extract<Op, { op: "finish" }>): void {
    const out = this.#pickFlight(pick);
    if (out === undefined) return;
    const decisions = out.messages.map((_, i): { kind: "ack" } | { kind: "retry"; delaySeconds: number | null } => {
      const way = how[i % how.length];
      return way === "ack" ? { kind: "ack" } : { kind: "retry", delaySeconds: way === "later" ? 10 : null };
    });
    const verdict: Verdict = { kind: "done", decisions, error: threw ? "it threw" : null };
    const done = this.#turn(() => this.#partition.finish(out.flight, verdict, this.#now), lost);
    if (!done) return;
    this.#flights.splice(this.#flights.indexOf(out), 1);
    out.messages.forEach((message, i) => {
      const number = numberOf(message);
      const by = this.#held.get(number);
      const owed = by?.get(out.consumer);
      if (by === undefined || owed === undefined) return;
      if (decisions[i]?.kind === "ack") by.delete(out.consumer);
      else this.#retried(out.consumer, owed);
      this.#forgetSettled(number);
    });
    this.#check();
  }

  #retried(consumer: string, owed: Owed): void {
    owed.state = "waits";
    if (owed.attempts <= this.#limitOf(consumer)) return;
    if (this.#consumers.find(({ name }) => name === consumer)?.deadLetter !== null) owed.state = "dead";
  }

  #unreachable(pick: number, lost: boolean): void {
    const out = this.#pickFlight(pick);
    if (out === undefined) return;
    const act = () => this.#partition.finish(out.flight, { kind: "unreachable", reason: "nobody" }, this.#now);
    if (!this.#turn(act, lost)) return;
    this.#flights.splice(this.#flights.indexOf(out), 1);
    for (const message of out.messages) {
      const owed = this.#held.get(numberOf(message))?.get(out.consumer);
      if (owed === undefined) continue;
      owed.state = "waits";
      owed.attempts--;
      // It was not delivered: its first delivery is yet to come.
      if (owed.attempts === 0) this.#delayed.add(numberOf(message));
    }
    this.#check();
  }

  #pull(limit: number, lost: boolean): void {
    const cursor = [...this.#partition.cursors].find(({ consumer }) => consumer?.type === "http_pull");
    if (cursor === undefined) return;
    const pulled: { leaseId: string; message: StoredMessage }[] = [];
    const done = this.#turn(() => {
      for (const { leaseId, ...message } of this.#partition.pull(cursor, this.#now, limit, 30_000)) {
        pulled.push({ leaseId, message });
      }
    }, lost);
    if (!done) return;
    const consumer = cursor.consumer?.name ?? "";
    for (const { leaseId, message } of pulled) {
      this.#leases.push({ leaseId, message: this.#delivered(message, consumer, "leased"), consumer });
    }
    this.#check();
  }

  #settle(pick: number, retry: boolean, lost: boolean): void {
    if (this.#leases.length === 0) return;
    const lease = this.#leases[pick % this.#leases.length] as Lease;
    const settlement: Settlement = { leaseId: lease.leaseId, retry: retry ? { delaySeconds: null } : null };
    const outcomes: string[] = [];
    if (!this.#turn(() => outcomes.push(this.#partition.settle(settlement, this.#now)), lost)) return;
    this.#leases.splice(this.#leases.indexOf(lease), 1);
    const by = this.#held.get(lease.message);
    const owed = by?.get(lease.consumer);
    const wasThere = owed !== undefined && owed.attempts > 0 && owed.state !== "dead";
    expect(outcomes, `message ${lease.message}`).toEqual([wasThere ? (retry ? "retried" : "acked") : "unknown"]);
    if (by === undefined || owed === undefined || !wasThere) return;
    if (retry) this.#retried(lease.consumer, owed);
    else by.delete(lease.consumer);
    this.#forgetSettled(lease.message);
    this.#check();
  }

  /** Dead letters go out; they arrive or not, and whether they did is learnt or not. */
  #letters(arrives: boolean, known: boolean): void {
    for (const cursor of this.#partition.cursors) {
      if (this.#partition.lettersWaiting(cursor) === 0) continue;
      const letters = this.#partition.lettersOf(cursor);
      const consumer = cursor.consumer?.name ?? "";
      if (!arrives) continue;
      const line = `${cursor.number}`;
      for (const { number, message } of letters) {
        if (number <= (this.#lastLetter.get(line) ?? 0)) continue;
        this.#lastLetter.set(line, number);
        const key = `${consumer}:${message.id}`;
        expect(this.#arrived.has(key), "a dead letter arrives once").toBe(false);
        this.#arrived.add(key);
        expect(message.origin?.attempts).toBeGreaterThan(0);
      }
      if (!known) continue;
      this.#turn(() => this.#partition.lettersArrived(cursor, letters.at(-1)?.number ?? 0), false);
      for (const { message } of letters) {
        this.#held.get(numberOf(message))?.delete(consumer);
        this.#forgetSettled(numberOf(message));
      }
    }
    this.#check();
  }

  #purge(pick: number): void {
    const here = this.#partition.peek(this.#now, 1000);
    const one = here[pick % Math.max(1, here.length)];
    if (one === undefined) return;
    this.#turn(() => expect(this.#partition.purgeOne(one.ref, this.#now)).toBe(true), false);
    this.#held.delete(numberOf(one));
    this.#check();
    expect(this.#partition.purgeOne(one.ref, this.#now), "it is gone").toBe(false);
  }

  #purgeAll(): void {
    this.#turn(() => expect(this.#partition.purge()).toBe(this.#held.size), false);
    this.#held.clear();
    this.#check();
  }

  #eject(lost: boolean): void {
    if (this.#moments.length >= MOMENTS) return;
    const here = this.#partition.peek(this.#now, 100_000);
    const begun: BookedMoment[] = [];
    const done = this.#turn(() => {
      const moment = this.#partition.eject(crypto.randomUUID(), this.#now);
      if (moment === null) throw new Error("there are too many moments");
      begun.push(bookedMoment(moment, here, this.#now));
    }, lost);
    if (done) this.#moments.push(...begun);
  }

  #page({ pick, maxBytes, arrives, drains, lost }: Extract<Op, { op: "page" }>): void {
    const moment = this.#moments[pick % Math.max(1, this.#moments.length)];
    if (moment === undefined) return;
    const pages: EjectedPage[] = [];
    const done = this.#turn(() => {
      const page = this.#partition.ejectPage(moment.cursor, maxBytes, this.#now);
      if (page === null) throw new Error("there are too many moments");
      pages.push(page);
    }, lost);
    const [page] = pages;
    if (!done || page === undefined) return;
    const hasMore = notePage(moment, page, arrives, this.#now);
    if (!hasMore) {
      noteEnd(moment, this.#partition.peek(this.#now, 100_000));
      this.#moments.splice(this.#moments.indexOf(moment), 1);
    }
    if (arrives && drains) this.#drain(page);
    this.#check();
  }

  /** What was read is removed, wherever it has gone meanwhile. */
  #drain({ messages, isRestarted }: EjectedPage): void {
    for (const message of messages) {
      const number = numberOf(message);
      const isHere = this.#held.has(number);
      const wasPurged: boolean[] = [];
      this.#turn(() => wasPurged.push(this.#partition.purgeOne(message.ref, this.#now)), false);
      if (isRestarted && (parseRef(message.ref)?.seq ?? 0) < 0 && wasPurged[0] === false) continue;
      expect(wasPurged, `message ${number} is purged`).toEqual([isHere]);
      this.#held.delete(number);
    }
  }

  #declare({ consumers, paused, maxRetries, concurrency, waitMs }: Extract<Op, { op: "declare" }>): void {
    const all: ConsumerConfig[] = [
      { ...WORKER, deadLetter: DEAD_LETTERS, maxRetries, maxConcurrency: concurrency, maxWaitMs: waitMs },
      { ...PULL, maxRetries },
      { ...WORKER, consumerId: "e".repeat(32), name: "second", batchSize: 3, maxRetries, maxConcurrency: concurrency },
    ] as ConsumerConfig[];
    const wanted = all.filter((_, i) => (consumers & (1 << i)) !== 0);
    const before = this.#consumers;
    this.#config = config(wanted, { deliveryPaused: paused, retentionSeconds: RETENTION_S });
    this.#turn(() => this.#partition.configure(this.#config, this.#now), false);
    this.#consumers = wanted;
    for (const { name } of before) {
      if (isThere(name, wanted)) continue;
      this.#flights = this.#flights.filter(({ consumer }) => consumer !== name);
      this.#leases = this.#leases.filter(({ consumer }) => consumer !== name);
      this.#firsts.delete(name);
    }
    const newcomers = wanted.filter(({ name }) => !isThere(name, before));
    const isOrphaned = before.length > 0 && wanted.length === 0;
    for (const [number, by] of this.#held) {
      for (const { name } of newcomers) {
        by.set(name, { attempts: this.#before.get(number) ?? 0, state: "waits" });
        // What others had passed comes in the order in which it became pending.
        this.#delayed.add(number);
      }
      if (isOrphaned) continue;
      for (const name of by.keys()) if (!isThere(name, wanted)) by.delete(name);
      this.#forgetSettled(number);
    }
    if (wanted.length === 0) for (const by of this.#held.values()) by.clear();
    this.#check();
  }

  /** The broker counts what the book holds, and lists it. */
  #check(): void {
    this.#noteDropped();
    const here = this.#partition.peek(this.#now, 100_000);
    for (const one of here) this.#numbers.set(one.id, numberOf(one));
    const numbers = here.map(numberOf).toSorted((a, b) => a - b);
    expect(numbers, "what is here").toEqual([...this.#held.keys()].toSorted((a, b) => a - b));
    const { count, bytes, readyCount, delayedCount, leasedCount } = this.#partition.backlogDetail(this.#now);
    expect(count, "backlog").toBe(this.#held.size);
    expect(bytes, "bytes").toBe(here.reduce((sum, { body }) => sum + body.byteLength, 0));
    expect(readyCount + delayedCount + leasedCount).toBe(count);
  }

  /** Everything is let through: nothing may be left, neither in the book nor on the disk. */
  end(): void {
    this.#declare({ op: "declare", consumers: 3, paused: false, maxRetries: 100, concurrency: 2, waitMs: 0 });
    for (let round = 0; round < 200 && this.#held.size + this.#flights.length > 0; round++) {
      this.#now += DELAYED * 20_000;
      this.#hand(10, false);
      while (this.#flights.length > 0) {
        this.#finish({ op: "finish", pick: 0, how: ["ack"], threw: false, lost: false });
      }
      this.#pull(100, false);
      while (this.#leases.length > 0) this.#settle(0, false, false);
      this.#letters(true, true);
    }
    expect([...this.#held], "delivered in the end").toEqual([]);
    this.#now += MOMENT_MS;
    this.#hand(0, false);
    for (const table of ["log", "delayed", "pending", "holes", "kept"]) expect(this.#disk.rows(table), table).toBe(0);
    expect(this.#partition.backlog()).toEqual({ count: 0, bytes: 0, oldestAt: null });
  }
}

function isThere(name: string, list: readonly ConsumerConfig[]): boolean {
  return list.some((one) => one.name === name);
}
