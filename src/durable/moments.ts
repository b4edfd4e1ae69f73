import type { EjectCursor } from "./eject-cursor.ts";
import type { RowSpan } from "./log.ts";
import { Moment, type EjectedPage } from "./moment.ts";
import type { Store } from "./store.ts";
import { backlogOf } from "./views.ts";

/** How many ejects a partition bears at once. */
export const MAX_MOMENTS = 4;
/** How long a moment is kept for the next page. */
export const MOMENT_MS = 60_000;

/**
 * The moments that ejects read, one for each. They live in memory and end with the object: an eject then goes on from
 * its cursor, with what is still here of what its moment held. Then too, nothing comes twice, and nothing that was sent
 * later; what left meanwhile is missing, and so is a delayed message that became due.
 */
export class Moments {
  readonly #store: Store;
  readonly #open = new Map<string, Moment>();
  #count = 0;
  /** Where in the log delayed rows went while a moment was open. */
  readonly #promoted = new Map<number, RowSpan>();

  constructor(store: Store) {
    this.#store = store;
    // What an earlier life has left.
    if (store.db.first("SELECT 1 AS one FROM kept LIMIT 1") !== undefined) store.db.run("DELETE FROM kept");
  }

  get isNone(): boolean {
    return this.#open.size === 0;
  }

  /** Begins a moment; null = there are too many. */
  begin(ejectId: string, now: number): { count: number; cursor: EjectCursor } | null {
    const { log, delayed } = this.#store;
    const bounds = { tail: log.tail.seq, delayed: delayed.totals.next };
    const cursor = { ejectId, bounds, at: { due: 0, number: 0 } };
    if (this.#start(cursor, now, false) === null) return null;
    // With everybody's place on the disk no number before these is used again.
    this.#store.touch();
    return { count: backlogOf(this.#store).count, cursor };
  }

  /** The page of a cursor; null = its moment was lost, and there are too many others. */
  page(partition: string, cursor: EjectCursor, maxBytes: number, now: number): EjectedPage | null {
    const moment = this.#open.get(cursor.ejectId) ?? this.#start(cursor, now, true);
    return moment?.page(partition, cursor.at, maxBytes, now) ?? null;
  }

  #start(cursor: EjectCursor, now: number, isRestarted: boolean): Moment | null {
    if (this.#open.size >= MAX_MOMENTS) this.#endOne();
    if (this.#open.size >= MAX_MOMENTS) return null;
    const moment = new Moment(this.#store, ++this.#count, cursor, now, isRestarted);
    this.#open.set(cursor.ejectId, moment);
    this.#watch();
    return moment;
  }

  /** One that has been read to its end makes room. */
  #endOne(): void {
    for (const [ejectId, moment] of this.#open) if (moment.isRead) return this.#end(ejectId, moment);
  }

  /** Ends those that nobody reads any more. */
  expire(now: number): void {
    for (const [ejectId, moment] of this.#open) if (moment.usedAt + MOMENT_MS <= now) this.#end(ejectId, moment);
  }

  #end(ejectId: string, moment: Moment): void {
    moment.end();
    this.#open.delete(ejectId);
    if (this.isNone) this.#promoted.clear();
    this.#watch();
  }

  #watch(): void {
    const { log, delayed } = this.#store;
    log.leaving = this.isNone ? null : (span) => this.#each((moment) => moment.keepLog(span));
    delayed.leaving = this.isNone ? null : (row) => this.#each((moment) => moment.keepDelayed(row));
  }

  #each(act: (moment: Moment) => void): void {
    for (const moment of this.#open.values()) act(moment);
  }

  /** A delayed row has become ready: an eject may have named its messages already. */
  notePromoted(number: number, row: RowSpan): void {
    if (!this.isNone) this.#promoted.set(number, row);
  }

  /** Where a delayed row has gone; undefined = it is not known. */
  promoted(number: number): RowSpan | undefined {
    return this.#promoted.get(number);
  }
}
