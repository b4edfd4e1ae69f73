/** An item that remembers where it stands in its {@link Heap}; -1 when it stands in none. */
export interface Slotted {
  slot: number;
}

/** A binary min-heap whose items know their slot, so that any of them can be removed or moved in O(log n). */
export class Heap<T extends Slotted> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    item.slot = this.#items.length;
    this.#items.push(item);
    this.#rise(item);
  }

  /** Removes `item`, which must stand in this heap. */
  remove(item: T): void {
    const last = this.#items.pop();
    if (last !== undefined && last !== item) {
      this.#items[item.slot] = last;
      last.slot = item.slot;
      this.update(last);
    }
    item.slot = -1;
  }

  /** Restores the order after the key of `item` has changed. */
  update(item: T): void {
    this.#rise(item);
    this.#sink(item);
  }

  #rise(item: T): void {
    const items = this.#items;
    let slot = item.slot;
    while (slot > 0) {
      const above = (slot - 1) >> 1;
      const parent = items[above] as T;
      if (!this.#before(item, parent)) break;
      items[slot] = parent;
      parent.slot = slot;
      slot = above;
    }
    items[slot] = item;
    item.slot = slot;
  }

  #sink(item: T): void {
    const items = this.#items;
    const half = items.length >> 1;
    let slot = item.slot;
    while (slot < half) {
      let below = 2 * slot + 1;
      let child = items[below] as T;
      const right = items[below + 1];
      if (right !== undefined && this.#before(right, child)) {
        child = right;
        below++;
      }
      if (!this.#before(child, item)) break;
      items[slot] = child;
      child.slot = slot;
      slot = below;
    }
    items[slot] = item;
    item.slot = slot;
  }
}
