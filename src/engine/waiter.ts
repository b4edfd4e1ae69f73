import type { Cursor } from "./cursor.ts";
import { RANK, type Due } from "./deadlines.ts";
import type { Group } from "./group.ts";
import type { Linked } from "./list.ts";
import type { Subscription } from "./subscription.ts";

/** A parked pop. */
export class Waiter implements Linked<Waiter>, Due {
  prev: Waiter | null = null;
  next: Waiter | null = null;
  dueAt = 0;
  slot = -1;
  readonly rank = RANK.waiter;
  /** Since when it has had messages in hand, within a window; null while it has none. */
  windowSince: number | null = null;
  /** Taken out of the line while the other owners are asked on its behalf. */
  detached = false;
  cancelled = false;

  constructor(
    readonly id: string,
    readonly group: Group,
    /** The one partition that it waits on, or null for any. */
    readonly cursor: Cursor | null,
    readonly batch: number,
    readonly autoAck: boolean,
    readonly timeoutAt: number,
    /** First come, first served: its place in the order of arrival. */
    readonly arrival: number,
    /** Whom it waits for, again and again; null = a pop. */
    readonly subscription: Subscription | null = null,
  ) {}

  onDue(): void {
    this.group.parking.due(this);
  }
}
