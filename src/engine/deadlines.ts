import { Heap, type Slotted } from "./heap.ts";

/** Something that is to happen at a time: a lease runs out, a message gets too old, a parked pop has waited enough. */
export interface Due extends Slotted {
  /** When it happens, in ms of the engine's clock. */
  dueAt: number;
  /** Of things that happen at the same time, the lower rank goes first: see {@link RANK}. */
  readonly rank: number;
  /** Called once the clock has reached `dueAt`; the item has left the deadlines by then and may arm itself again. */
  onDue(): void;
}

/** Age first, then leases, so that a pop at the end of its time still gets what has just come back. */
export const RANK = { ring: 0, lease: 1, subscription: 2, waiter: 3, cursor: 4, group: 5, queue: 6 } as const;

/** Every deadline of an owner, in one heap: finding what is due never scans messages or rings. */
export class Deadlines {
  readonly #heap = new Heap<Due>((a, b) => (a.dueAt === b.dueAt ? a.rank < b.rank : a.dueAt < b.dueAt));

  /** The earliest deadline, or `Infinity`. */
  get next(): number {
    return this.#heap.peek()?.dueAt ?? Infinity;
  }

  /** `Infinity` = never. */
  arm(item: Due, dueAt: number): void {
    item.dueAt = dueAt;
    if (dueAt === Infinity) this.disarm(item);
    else if (item.slot < 0) this.#heap.add(item);
    else this.#heap.update(item);
  }

  disarm(item: Due): void {
    if (item.slot >= 0) this.#heap.remove(item);
  }

  /**
   * Runs everything that is due at `now`, in order; a deadline that equals `now` has been reached. `settle` is called
   * whenever all leases of one instant have run out, so that what comes back together is handed out together.
   */
  run(now: number, settle: () => void): void {
    let instant = -Infinity;
    // What is handed out at the end may leave something empty, and that may have been idle for long enough.
    do {
      for (let item = this.#heap.peek(); item !== undefined && item.dueAt <= now; item = this.#heap.peek()) {
        if (item.dueAt > instant || item.rank > RANK.lease) {
          settle();
          instant = item.dueAt;
          if (this.#heap.peek() !== item) continue;
        }
        this.#heap.remove(item);
        item.onDue();
      }
      settle();
    } while (this.next <= now);
  }
}
