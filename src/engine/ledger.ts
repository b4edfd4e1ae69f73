import type { Ring } from "./ring.ts";

/** What was written together; its place on the disk is free again once none of it is held. */
export class Segment {
  live = 0;

  constructor(
    readonly slots: readonly number[],
    /** How many messages it was written with, and what they take there. */
    readonly total = 0,
    readonly bytes = 0,
  ) {}

  /** What of it is still needed, by the share of its messages. */
  get liveBytes(): number {
    return this.total === 0 ? 0 : (this.bytes * this.live) / this.total;
  }
}

/** What the disk does not know yet. */
export class Ledger {
  /** Rings with messages that were never written. */
  readonly fresh = new Set<Ring>();
  /** Since when anything else that is to outlive a restart has differed from what was written; `Infinity` = it does not. */
  changedAt = Infinity;

  /** Whether this change must not wait: without it, the next life could not know what it has to ask for. */
  isUrgent = false;

  get isClean(): boolean {
    return this.fresh.size === 0 && this.changedAt === Infinity;
  }

  change(now: number): void {
    if (now < this.changedAt) this.changedAt = now;
  }

  /** The age of the oldest thing that is not written: a scan over rings, for a look once a window. */
  get oldestAt(): number {
    let oldest = this.changedAt;
    for (const { fresh } of this.fresh) if (fresh !== null && fresh.pushedAt < oldest) oldest = fresh.pushedAt;
    return oldest;
  }

  /** Everything held has been written. */
  settle(): void {
    for (const ring of this.fresh) ring.fresh = null;
    this.fresh.clear();
    this.changedAt = Infinity;
    this.isUrgent = false;
  }
}
