import type { Cursor } from "./cursor.ts";
import { List, type Linked } from "./list.ts";
import type { Message } from "./message.ts";

/** A place in the log where one or more cursors stand: the message that they are to be handed next. */
export class Position implements Linked<Position> {
  prev: Position | null = null;
  next: Position | null = null;
  /** How many messages stand from here up to the next position. */
  span = 0;
  /** How many messages were dropped under the cursors that stand here. */
  skipped = 0;
  readonly cursors: Cursor[] = [];

  /** `null` is the end of the log: everything has been handed over. */
  constructor(public message: Message | null) {}
}

/**
 * The distinct places where the cursors of a ring stand, oldest first. Cursors that stand together move together when
 * the log is cut under them, and counts live between places and not in cursors, so that neither a push nor an eviction
 * visits the groups one by one.
 */
export class Positions {
  readonly #list = new List<Position>();
  /** How many messages stand at or behind the foremost place. */
  #ahead = 0;

  /** The oldest place; messages before it have been handed to every group. Null when no group exists. */
  get front(): Position | null {
    return this.#list.head;
  }

  /** The cursors that have been handed everything. */
  get caughtUp(): readonly Cursor[] {
    const last = this.#list.tail;
    return last !== null && last.message === null ? last.cursors : [];
  }

  /** Whether every group has been handed `message`. With no group, nobody has. */
  isPassed(message: Message): boolean {
    const front = this.front;
    return front !== null && (front.message === null || message.seq < front.message.seq);
  }

  /** How many messages a cursor at `position` has not been handed. */
  countFrom(position: Position): number {
    let count = 0;
    for (let at: Position | null = position; at !== null; at = at.next) count += at.span;
    return count;
  }

  messageAppended(message: Message): void {
    const last = this.#list.tail;
    if (last === null) return;
    if (last.message === null) {
      last.message = message;
      message.position = last;
    }
    last.span++;
    this.#ahead++;
  }

  /** Called before `message`, the oldest one, is cut off the log. */
  headRemoved(message: Message): void {
    const position = message.position;
    if (position === null) return;
    position.skipped++;
    this.#moveOn(position, message);
  }

  /** Called before a message is taken out of the log, wherever it stands: nobody has missed it. */
  removed(message: Message): void {
    if (message.position !== null) return this.#moveOn(message.position, message);
    let before = message.prev;
    while (before !== null && before.position === null) before = before.prev;
    // Before the foremost place nothing is counted.
    if (before === null || before.position === null) return;
    before.position.span--;
    this.#ahead--;
  }

  /** The cursors that stand at a message go on to the next one. */
  #moveOn(position: Position, message: Message): void {
    message.position = null;
    position.span--;
    this.#ahead--;
    const next = message.next;
    const standing = next === null ? this.#end() : next.position;
    position.message = next;
    if (standing !== null && standing !== position) this.#merge(position, standing);
    else if (next !== null) next.position = position;
  }

  /** Places a new cursor at the oldest message held. */
  enter(cursor: Cursor, head: Message | null, held: number): void {
    let position = head === null ? this.#end() : head.position;
    if (position === null) {
      position = new Position(head);
      if (head === null) this.#list.append(position);
      else {
        head.position = position;
        position.span = held - this.#ahead;
        this.#ahead = held;
        this.#list.insertAfter(null, position);
      }
    }
    join(cursor, position);
  }

  /** Places cursors anew over a whole log; `placed` goes from the oldest message to the end, which is null. */
  restore(placed: readonly { cursor: Cursor; at: Message | null }[]): void {
    for (const { cursor, at } of placed) {
      let last = this.#list.tail;
      if (last === null || last.message !== at) {
        last = new Position(at);
        if (at !== null) at.position = last;
        this.#list.append(last);
      }
      join(cursor, last);
    }
    let position: Position | null = null;
    for (let message = this.front?.message ?? null; message !== null; message = message.next) {
      position = message.position ?? position;
      if (position !== null) position.span++;
      this.#ahead++;
    }
  }

  /** Moves a cursor over the `count` messages before `target`; null is the end. */
  advance(cursor: Cursor, target: Message | null, count: number): void {
    const from = cursor.position;
    // The last place at or before the target, found by walking the messages that were just handed over.
    let before = from;
    for (let at = from.message; at !== target && at !== null; at = at.next) before = at.position ?? before;
    const standing = target === null ? this.#end() : target.position;
    if (standing === null && before === from && from.cursors.length === 1) {
      this.#slide(from, target, count);
      return;
    }
    const to = standing ?? this.#split(before, target);
    leave(cursor);
    join(cursor, to);
    if (from.cursors.length === 0) this.#drop(from);
  }

  /** Moves a cursor to the end of the log. */
  moveToEnd(cursor: Cursor): void {
    let end = this.#end();
    if (end === null) {
      end = new Position(null);
      this.#list.append(end);
    }
    const from = cursor.position;
    if (from === end) return;
    leave(cursor);
    join(cursor, end);
    if (from.cursors.length === 0) this.#drop(from);
  }

  remove(cursor: Cursor): void {
    const from = cursor.position;
    leave(cursor);
    if (from.cursors.length === 0) this.#drop(from);
  }

  #end(): Position | null {
    const last = this.#list.tail;
    return last !== null && last.message === null ? last : null;
  }

  /** A lone cursor with nobody between it and its target takes its place along. */
  #slide(position: Position, target: Message | null, count: number): void {
    if (position.message !== null) position.message.position = null;
    position.message = target;
    if (target !== null) target.position = position;
    position.span -= count;
    if (position.prev === null) this.#ahead -= count;
    else position.prev.span += count;
  }

  #split(before: Position, target: Message | null): Position {
    const position = new Position(target);
    if (target !== null) {
      target.position = position;
      let passed = 0;
      for (let at = before.message; at !== target && at !== null; at = at.next) passed++;
      position.span = before.span - passed;
      before.span = passed;
    }
    this.#list.insertAfter(before, position);
    return position;
  }

  #drop(position: Position): void {
    if (position.message !== null) position.message.position = null;
    if (position.prev === null) this.#ahead -= position.span;
    else position.prev.span += position.span;
    this.#list.remove(position);
  }

  /** Unites a place with the one right behind it, moving the smaller crowd. */
  #merge(front: Position, behind: Position): void {
    const [kept, given] = front.cursors.length > behind.cursors.length ? [front, behind] : [behind, front];
    for (let cursor = given.cursors[0]; cursor !== undefined; cursor = given.cursors[0]) {
      leave(cursor);
      join(cursor, kept);
    }
    kept.span = behind.span;
    kept.message = behind.message;
    if (kept.message !== null) kept.message.position = kept;
    this.#list.remove(given);
  }
}

function join(cursor: Cursor, position: Position): void {
  cursor.position = position;
  cursor.placeInPosition = position.cursors.length;
  cursor.skipped -= position.skipped;
  position.cursors.push(cursor);
}

function leave(cursor: Cursor): void {
  const { position } = cursor;
  cursor.skipped += position.skipped;
  const last = position.cursors.pop();
  if (last !== undefined && last !== cursor) {
    position.cursors[cursor.placeInPosition] = last;
    last.placeInPosition = cursor.placeInPosition;
  }
}
