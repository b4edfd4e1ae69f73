import type { EngineSettings } from "../contract/options.ts";
import { Deadlines } from "./deadlines.ts";
import type { Batch, Handed } from "./batch.ts";
import type { Cursor } from "./cursor.ts";
import { Ledger } from "./ledger.ts";
import { RecentKeys } from "./recent-keys.ts";
import type { Queue } from "./queue.ts";
import type { Subscription, SubscriptionEnd } from "./subscription.ts";
import type { Waiter } from "./waiter.ts";

/** Why a message left before it was acknowledged. */
export type DropCause = "bounds" | "ttl" | "retry";

/** What an owner has done since it started. */
export interface Counters {
  pushed: number;
  popped: number;
  acked: number;
  redelivered: number;
  dropped: Record<DropCause, number>;
  /** Partitions taken over from other owners: counted where they arrive, as a sender may be a member no more. */
  adopted: number;
  /** Messages that a group was still owed when its cursor was dropped for idleness. */
  groupIdleOwed: number;
}

/** What the engine tells the object around it. It never waits for any of this. */
export interface Effects {
  /** A parked pop is over: with messages, or with an empty batch at the end of its time. */
  answer(waiter: Waiter, batch: Batch): void;
  /** A subscription has been handed messages, as its batch of that number. */
  deliver(id: string, number: number, batch: Batch): void;
  /** A subscription waits for messages of any partition: the other owners of the queue are to be asked. */
  attend(queue: string, group: string): void;
  /** The broker has ended a subscription; what was out has to be given back. */
  ended(id: string, why: SubscriptionEnd, out: Handed[]): void;
  /** A group with interest from its home has messages here. */
  available(queue: string, group: string): void;
  /** Parked pops can be served only by asking the other owners of the queue. */
  gather(queue: string, group: string): void;
  /** A group looks idle here; only its home knows whether a pop with no partition used it elsewhere. */
  askIdle(queue: string, group: string): void;
  /** The last trace of a group left this owner. */
  groupForgotten(queue: string, group: string): void;
  /** An idle implicit queue was collected. */
  queueCollected(queue: string): void;
  /** Something that an operator should be able to read. */
  log(event: string, details: Record<string, unknown>): void;
}

/** What holding things costs, beside the payload's own width. */
export const COST = {
  message: 200,
  ring: 1024,
  queue: 1024,
  group: 1024,
  waiter: 1024,
  cursor: 512,
  key: 256,
} as const;

/** What every part of one engine shares. */
export class EngineContext {
  /** The clock, in ms; moved by the caller before each operation. */
  now = 0;
  nextSeq = 0;
  nextArrival = 0;
  /** Memory held, by the measure of {@link COST}. */
  memoryBytes = 0;
  readonly deadlines = new Deadlines();
  /** Ends of subscriptions. Looked at whenever the clock moves, but nothing is armed for them: they let an owner sleep. */
  readonly expiries = new Deadlines();
  readonly ledger = new Ledger();
  readonly keys = new RecentKeys(this);
  /** Until when nobody knows who was popping before a crash: whoever asks is told that somebody is. */
  unsureUntil = -Infinity;
  /** Leases out, over all rings. */
  leases = 0;
  /** Cursors that something came back to, and whose parked pops have not been looked at since. */
  readonly woken = new Set<Cursor>();
  /** Those of them that a pop of just their partition waits for. */
  readonly wokenFor = new Set<Cursor>();
  readonly waiters = new Map<string, Waiter>();
  readonly subscriptions = new Map<string, Subscription>();
  /** How many of the waiters are subscriptions. */
  parkedSubscriptions = 0;
  /** Messages in the hands of subscriptions, of whichever owner. */
  unsettled = 0;
  /** Forgets an idle implicit queue. */
  collect: (queue: Queue) => void = () => {};
  readonly counters: Counters = {
    pushed: 0,
    popped: 0,
    acked: 0,
    redelivered: 0,
    dropped: { bounds: 0, ttl: 0, retry: 0 },
    adopted: 0,
    groupIdleOwed: 0,
  };

  /** Serves the parked pops of every cursor that something came back to, once all of it has. */
  readonly wake = (): void => {
    // Pops of any partition must see all of it, and not only what the first cursor has.
    for (const cursor of this.woken) {
      cursor.group.offers(cursor);
      if ((cursor.waiters?.size ?? 0) > 0) this.wokenFor.add(cursor);
    }
    for (const cursor of this.woken) {
      this.woken.delete(cursor);
      this.wokenFor.delete(cursor);
      cursor.group.messagesCame(cursor);
    }
  };

  constructor(
    readonly incarnation: string,
    readonly settings: EngineSettings,
    readonly effects: Effects,
  ) {}
}
