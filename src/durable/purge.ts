import type { Logged } from "./log.ts";
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
    if (!store.delayed.purge(-seq, id)) return purgePromoted(store, -seq, id, now);
    noteDropped(store, 1);
    return true;
  }
  const logged = store.log.at(seq);
  return logged?.message.id === id && purgeLogged(store, logged, now);
}

/** A message that was delayed when an eject named it may have become ready since. */
function purgePromoted(store: Store, number: number, id: string, now: number): boolean {
  const row = store.moments.promoted(number);
  if (row === undefined) return false;
  for (let seq = row.from; seq < row.to; seq++) {
    const logged = store.log.at(seq);
    if (logged?.message.id === id) return purgeLogged(store, logged, now);
  }
  return false;
}

function purgeLogged(store: Store, logged: Logged, now: number): boolean {
  const { seq } = logged;
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
