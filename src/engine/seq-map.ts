const MIN_CAPACITY = 16;
/** Tables up to this size, of some kilobytes, do not shrink: what flows through a busy partition comes in waves. */
const KEPT_CAPACITY = 1024;

/** A thing that has the sequence number of a message. */
export interface Numbered {
  readonly seq: number;
}

/**
 * Things by their sequence numbers. A `Map` would do, but for what it leaves behind: each time it makes room it moves to
 * another table, and the old one goes on pointing at the new one. As soon as one of them has grown old, V8's quick
 * collections take all that come after it, and every message in them, for reachable, until a full collection. Here a table
 * stays where it is as long as about as many things are in it.
 */
export class SeqMap<T extends Numbered> {
  size = 0;
  /** Open addressing: each thing stands at the first free place from where its number belongs. */
  #things: (T | null)[] = [];
  #mask = -1;

  get(seq: number): T | undefined {
    return this.#things[this.#find(seq)] ?? undefined;
  }

  /** Puts a thing in the place of the one with its number. */
  set(thing: T): void {
    const known = this.#find(thing.seq);
    if (known >= 0) {
      this.#things[known] = thing;
      return;
    }
    if (2 * (this.size + 1) > this.#things.length) this.#resize(Math.max(MIN_CAPACITY, 4 * this.#things.length));
    this.#put(thing);
    this.size++;
  }

  delete(seq: number): void {
    const at = this.#find(seq);
    if (at < 0) return;
    this.#close(at);
    this.size--;
    const { length } = this.#things;
    if (length > KEPT_CAPACITY && 32 * this.size < length) this.#resize(length / 4);
  }

  /** All that is in it, in no order. */
  values(): T[] {
    return this.#things.filter((thing) => thing !== null);
  }

  #home(seq: number): number {
    return (Math.imul(seq, 0x9e37_79b1) >>> 7) & this.#mask;
  }

  /** Where the thing with a number stands; -1 = nowhere. */
  #find(seq: number): number {
    const things = this.#things;
    const mask = this.#mask;
    if (mask < 0) return -1;
    let at = this.#home(seq);
    for (let thing = things[at]; thing != null; thing = things[at]) {
      if (thing.seq === seq) return at;
      at = (at + 1) & mask;
    }
    return -1;
  }

  #put(thing: T): void {
    let at = this.#home(thing.seq);
    while (this.#things[at] !== null) at = (at + 1) & this.#mask;
    this.#things[at] = thing;
  }

  /** Empties a place. What stands behind it and belongs no later moves up, or it would not be found any more. */
  #close(place: number): void {
    const things = this.#things;
    const mask = this.#mask;
    let gap = place;
    let at = (gap + 1) & mask;
    for (let thing = things[at]; thing != null; thing = things[at]) {
      if (((at - this.#home(thing.seq)) & mask) >= ((at - gap) & mask)) {
        things[gap] = thing;
        gap = at;
      }
      at = (at + 1) & mask;
    }
    things[gap] = null;
  }

  #resize(capacity: number): void {
    const things = this.#things;
    this.#things = [];
    for (let at = 0; at < capacity; at++) this.#things.push(null);
    this.#mask = capacity - 1;
    for (const thing of things) if (thing !== null) this.#put(thing);
  }
}
