import { dissolveHeld } from "./push.ts";
import { parseRef } from "./refs.ts";
import type { Store } from "./store.ts";
import { backlogOf } from "./views.ts";

/**
 * Removes everything, what is out included: what is said of it later counts for nothing, though its handlers go on and
 * take their places until they end. Answers how many messages went.
 */
export function purgeAll(store: Store): number {
  const { count } = backlogOf(store);
  for (const cursor of store.cursors.values()) {
    for (const flight of cursor.held.slice()) store.land(flight);
    for (const flight of cursor.flights) store.forgetFlight(flight);
    cursor.position = { ...store.log.tail };
  }
  store.pending.clear();
  store.delayed.clear();
  store.log.clear();
  noteDropped(store, count);
  return count;
}

/** Removes one message, whoever has it. Answers whether it was there. */
export function purgeOne(store: Store, ref: string, now: number): boolean {
  const found = parseRef(ref);
  if (found === null) return false;
  const { seq, id } = found;
  if (seq < 0) {
    const wasThere = store.delayed.purge(-seq, id);
    if (wasThere) noteDropped(store, 1);
    return wasThere;
  }
  const logged = store.log.at(seq);
  if (logged?.message.id !== id) return false;
  for (const cursor of store.cursors.values()) dissolveHeld(store, cursor, now);
  const pending = store.pending.within({ from: seq, to: seq + 1 });
  const isFlying = store.forgetFlying(seq);
  if (pending.length === 0 && !isFlying && seq < store.behind.seq) return false;
  for (const { cursor } of pending) store.pending.remove(cursor, seq);
  store.log.punch(logged);
  const passed = Array.from(store.cursors.values()).flatMap((cursor) => store.advance(cursor, cursor.position));
  noteDropped(store, 1);
  store.release([logged.row, ...passed]);
  return true;
}

function noteDropped(store: Store, count: number): void {
  if (count === 0) return;
  store.counters.purged += count;
  store.touch();
  store.effects.log("messages_purged", { count });
}
