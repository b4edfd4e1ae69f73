/** An item that can stand in one {@link List} at a time. */
export interface Linked<T> {
  prev: T | null;
  next: T | null;
}

/** A doubly linked list through the items themselves: every operation is O(1) and allocates nothing. */
export class List<T extends Linked<T>> {
  head: T | null = null;
  tail: T | null = null;
  size = 0;

  append(item: T): void {
    this.insertAfter(this.tail, item);
  }

  /** Inserts `item` behind `anchor`, or at the head when `anchor` is null. */
  insertAfter(anchor: T | null, item: T): void {
    const next = anchor === null ? this.head : anchor.next;
    item.prev = anchor;
    item.next = next;
    if (anchor === null) this.head = item;
    else anchor.next = item;
    if (next === null) this.tail = item;
    else next.prev = item;
    this.size++;
  }

  remove(item: T): void {
    if (item.prev === null) this.head = item.next;
    else item.prev.next = item.next;
    if (item.next === null) this.tail = item.prev;
    else item.next.prev = item.prev;
    item.prev = null;
    item.next = null;
    this.size--;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let item = this.head; item !== null;) {
      const next: T | null = item.next;
      yield item;
      item = next;
    }
  }
}
