import type { QueueConfig } from "../contract/queue-config.ts";
import type {
  Backlog,
  BacklogDetail,
  DeadLetter,
  ImportedMessage,
  PackedMessages,
  PeekedMessage,
  PulledMessage,
  Settlement,
  SettleOutcome,
} from "./message.ts";
import { applyConfig } from "./consumers.ts";
import type { Cursor, Delivery, Flight } from "./cursor.ts";
import type { Database } from "./database.ts";
import type { EjectCursor } from "./eject-cursor.ts";
import { entriesOf, entriesOfMessages, type Entry } from "./entry.ts";
import { expire, expiryOf } from "./expiry.ts";
import { dropLetters, lettersArrived, lettersOf } from "./give-up.ts";
import type { EjectedPage } from "./moment.ts";
import { pull, settle } from "./pull.ts";
import { purgeAll, purgeOne } from "./purge.ts";
import { finish, handOver, handOverInserted, nextHandOver, receiverOf, type Verdict } from "./push.ts";
import { hear, importSource, unheard } from "./sources.ts";
import { Store, type Effects } from "./store.ts";
import { available } from "./take.ts";
import { backlogDetail, backlogOf, owed, peek, peekFrom, storedBytes, type PeekedRun } from "./views.ts";

/**
 * One partition of a durable queue: everything that a message can go through, over a SQLite database and with the time
 * given. Nothing here waits. A turn is any number of calls and then `save`, in one go: its writes become durable together,
 * and until they are, nobody outside may learn of them.
 */
export class Partition {
  readonly #store: Store;
  readonly #name: string;
  /** Batches that left in the turn of their insert and have not been fetched. */
  #leaving: Delivery[] = [];
  /** When something is to be dropped for its age; undefined = has to be looked up. */
  #expireAt: number | null | undefined;
  #oldIsOut = false;

  /** Opens what the database holds. */
  constructor(db: Database, name: string, config: QueueConfig, now: number, effects: Effects) {
    this.#name = name;
    this.#store = new Store(db, config, now, effects);
    this.configure(config, now);
    this.save();
  }

  get config(): QueueConfig {
    return this.#store.config;
  }

  get counters() {
    return this.#store.counters;
  }

  /** Messages that came since it was made: the log numbers them. Delayed ones that were purged count no more. */
  get sent(): number {
    return this.#store.log.tail.seq + this.#store.delayed.totals.count;
  }

  get cursors(): Iterable<Cursor> {
    return this.#store.cursors.values();
  }

  /** Ends a turn. */
  save(): void {
    this.#store.save();
  }

  configure(config: QueueConfig, now: number): void {
    applyConfig(this.#store, config, now);
    this.#expireAt = undefined;
  }

  /** Stores messages. They may leave in the same turn, if `mayStart` says so: {@link handOver} has them. */
  send(packed: readonly PackedMessages[], now: number, mayStart: () => boolean): void {
    const { deliveryDelaySeconds } = this.config.settings;
    for (const { delaySeconds, entry } of entriesOf(packed, now, deliveryDelaySeconds)) {
      if (delaySeconds > 0) {
        this.#store.delayed.add(entry, now + delaySeconds * 1000);
        this.#store.touch();
      } else this.#append(entry, now, mayStart);
    }
  }

  #append(entry: Entry, now: number, mayStart: () => boolean): void {
    const waiting = receiverOf(this.#store, entry, now);
    const receiver = waiting !== null && mayStart() ? waiting : null;
    const row = this.#store.log.append(entry, now, receiver?.number ?? null);
    if (receiver !== null) this.#leaving.push(handOverInserted(this.#store, receiver, entry, row));
    this.#noteArrivals(now);
  }

  /** The first message of an empty log, which may have been a delayed one, says when there is something to drop. */
  #noteArrivals(now: number): void {
    if (this.#store.log.isEmpty) this.#expireAt = null;
    else if (this.#expireAt === null) this.#expireAt = expiryOf(this.#store, now);
  }

  /** Bodies that are stored. */
  get storedBytes(): number {
    return storedBytes(this.#store);
  }

  /** Batches that go out now. `mayStart` is asked before each of them. */
  handOver(now: number, mayStart: () => boolean): Delivery[] {
    this.#store.moments.expire(now);
    this.#expire(now);
    const leaving = this.#leaving;
    this.#leaving = [];
    const deliveries = handOver(this.#store, now, mayStart);
    this.#noteArrivals(now);
    return leaving.length === 0 ? deliveries : [...leaving, ...deliveries];
  }

  #expire(now: number): void {
    if (this.#expireAt === null || (this.#expireAt !== undefined && this.#expireAt > now)) return;
    const { next, isOut } = expire(this.#store, now);
    this.#expireAt = next;
    this.#oldIsOut = isOut;
  }

  /** Takes a batch back. */
  finish(flight: Flight, verdict: Verdict, now: number): void {
    finish(this.#store, flight, verdict, now);
    if (this.#oldIsOut) this.#expireAt = now;
  }

  pull(cursor: Cursor, now: number, limit: number, visibilityTimeoutMs: number): PulledMessage[] {
    this.#expire(now);
    const pulled = pull(this.#store, cursor, this.#name, now, limit, visibilityTimeoutMs);
    this.#noteArrivals(now);
    return pulled;
  }

  /** Whether a pull would get something. */
  hasReady(cursor: Cursor, now: number): boolean {
    return (this.#store.delayed.nextDue ?? Infinity) <= now || available(this.#store, cursor, now, 1) > 0;
  }

  settle(settlement: Settlement, now: number): SettleOutcome {
    return settle(this.#store, settlement, now);
  }

  /** The room that dead letters of another queue would take, in bytes: those that are here already take none. */
  roomForLetters(source: string, letters: readonly DeadLetter[]): number {
    return bodyBytes(unheard(this.#store.db, source, letters));
  }

  /** Stores dead letters of another queue, but for those that are here already. */
  receive(source: string, letters: readonly DeadLetter[], now: number): void {
    const fresh = hear(this.#store.db, source, letters);
    for (const entry of entriesOfMessages(fresh.map(({ message }) => message))) this.#append(entry, now, () => false);
  }

  /** The room that an import would take, in bytes: what is here already takes none. */
  roomForImport(source: string, messages: readonly ImportedMessage[]): number {
    return bodyBytes(unheard(this.#store.db, importSource(source), messages));
  }

  /**
   * Stores messages of another broker as they are, deliveries included, but for those that are here already. Answers how
   * many were new. One that is due later waits until then.
   */
  import(source: string, messages: readonly ImportedMessage[], now: number): number {
    const fresh = hear(this.#store.db, importSource(source), messages);
    const byDue = Map.groupBy(fresh, ({ dueAt }) => (dueAt !== null && dueAt > now ? dueAt : null));
    for (const [due, group] of byDue) {
      for (const entry of entriesOfMessages(group.map(({ message }) => message))) {
        if (due === null) this.#append(entry, now, () => false);
        else this.#store.delayed.add(entry, due);
      }
    }
    if (fresh.length > 0) this.#store.touch();
    return fresh.length;
  }

  /** The dead letters of a cursor that go out next. */
  lettersOf(cursor: Cursor): DeadLetter[] {
    if (cursor.consumer?.deadLetter !== null) return lettersOf(this.#store, cursor);
    dropLetters(this.#store, cursor);
    return [];
  }

  lettersArrived(cursor: Cursor, upTo: number): void {
    lettersArrived(this.#store, cursor, upTo);
  }

  lettersWaiting({ number }: Cursor): number {
    return this.#store.pending.total(number).dead;
  }

  /** When something happens next if nobody calls; undefined = never. What is ready for a pull client does not count. */
  nextDeadline(now: number): number | undefined {
    const times = [this.#store.delayed.nextDue, this.#expireAt, ...this.#handOvers(now)];
    const earliest = times.reduce<number>((first, time) => Math.min(first, time ?? Infinity), Infinity);
    return earliest === Infinity ? undefined : earliest;
  }

  *#handOvers(now: number): Generator<number | undefined> {
    for (const cursor of this.#store.cursors.values()) yield nextHandOver(this.#store, cursor, now);
  }

  /** When a cursor's next message that is not ready yet will be; undefined = there is none. */
  nextReady({ number }: Cursor): number | undefined {
    const times = [this.#store.pending.nextDue(number), this.#store.delayed.nextDue].filter((time) => time != null);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  backlog(): Backlog {
    return backlogOf(this.#store);
  }

  backlogDetail(now: number): BacklogDetail {
    return backlogDetail(this.#store, now);
  }

  /** What a consumer has not settled. */
  owed(cursor: Cursor): number {
    return owed(this.#store, cursor).count + this.#store.delayed.totals.count;
  }

  peek(now: number, limit: number): PeekedMessage[] {
    return peek(this.#store, this.#name, now, limit);
  }

  /** Up to `limit` messages that became ready from a place on; null = the end. */
  peekFrom(now: number, limit: number, from: number | null): PeekedRun {
    return peekFrom(this.#store, this.#name, now, limit, from);
  }

  /** Begins a moment that {@link ejectPage} reads: everything that is here now. null = there are too many. */
  eject(ejectId: string, now: number): { count: number; cursor: EjectCursor } | null {
    this.#store.moments.expire(now);
    return this.#store.moments.begin(ejectId, now);
  }

  /** The messages of a moment from a cursor on; null = it was lost, and there are too many others. */
  ejectPage(cursor: EjectCursor, maxBytes: number, now: number): EjectedPage | null {
    this.#store.moments.expire(now);
    return this.#store.moments.page(this.#name, cursor, maxBytes, now);
  }

  /** Answers how many messages went. */
  purge(): number {
    return purgeAll(this.#store);
  }

  /** Answers whether the message was here. */
  purgeOne(ref: string, now: number): boolean {
    return purgeOne(this.#store, ref, now);
  }
}

function bodyBytes(messages: readonly { message: { body: Uint8Array } }[]): number {
  return messages.reduce((sum, { message }) => sum + message.body.byteLength, 0);
}
