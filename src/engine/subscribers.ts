/**
 * Who has subscribed to a queue here, by names: groups and partitions come and go under a subscriber, and what it reads
 * must not be taken for idle in between.
 */
export class Subscribers {
  size = 0;
  /** How many read a partition for a group, or, with no partition, all of them. */
  readonly #readers = new Map<string, number>();
  #ofAll = 0;
  readonly #byPartition = new Map<string, number>();

  /** Answers whether this is the first one in its place. */
  add(group: string, partition: string | null): boolean {
    this.size++;
    if (partition === null) this.#ofAll++;
    else count(this.#byPartition, partition, 1);
    return count(this.#readers, placeOf(group, partition), 1) === 1;
  }

  /** Answers whether this was the last one in its place. */
  remove(group: string, partition: string | null): boolean {
    this.size--;
    if (partition === null) this.#ofAll--;
    else count(this.#byPartition, partition, -1);
    return count(this.#readers, placeOf(group, partition), -1) === 0;
  }

  /** Whether somebody reads every partition for a group. */
  readAll(group: string): boolean {
    return this.#readers.has(placeOf(group, null));
  }

  /** Whether somebody reads a partition for a group, alone or with all others. */
  read(group: string, partition: string): boolean {
    return this.size > 0 && (this.readAll(group) || this.#readers.has(placeOf(group, partition)));
  }

  /** Whether somebody would hear of a message in a partition; null = in whichever. */
  hear(partition: string | null): boolean {
    return this.#ofAll > 0 || (partition !== null && this.name(partition));
  }

  /** Whether somebody reads a partition by its name. */
  name(partition: string): boolean {
    return this.#byPartition.has(partition);
  }
}

/** No name holds a control character. */
function placeOf(group: string, partition: string | null): string {
  return `${group}\u0000${partition ?? ""}`;
}

function count(counts: Map<string, number>, key: string, more: number): number {
  const now = (counts.get(key) ?? 0) + more;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
  return now;
}
