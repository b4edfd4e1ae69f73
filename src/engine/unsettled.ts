/** A message in the hands of a subscriber. */
export interface Unsettled {
  partition: string;
  seq: number;
  attempts: number;
  chars: number;
  /** How much had been sent up to the end of this message. */
  sent: number;
  leaseEndsAt: number;
}

/**
 * The messages that a subscriber has not settled, by partition and number: an ack names both, whichever owner the message
 * came from. Numbers are looked up several times as fast as texts made of both.
 */
export class UnsettledMessages {
  readonly #byPartition = new Map<string, Map<number, Unsettled>>();
  size = 0;
  chars = 0;

  get(partition: string, seq: number): Unsettled | undefined {
    return this.#byPartition.get(partition)?.get(seq);
  }

  add(message: Unsettled): void {
    let ofPartition = this.#byPartition.get(message.partition);
    if (ofPartition === undefined) this.#byPartition.set(message.partition, (ofPartition = new Map()));
    ofPartition.set(message.seq, message);
    this.size++;
    this.chars += message.chars;
  }

  delete({ partition, seq, chars }: Unsettled): void {
    const ofPartition = this.#byPartition.get(partition);
    if (ofPartition === undefined || !ofPartition.delete(seq)) return;
    if (ofPartition.size === 0) this.#byPartition.delete(partition);
    this.size--;
    this.chars -= chars;
  }

  *values(): Generator<Unsettled, void, undefined> {
    for (const ofPartition of this.#byPartition.values()) yield* ofPartition.values();
  }

  /** When the next lease ends, of those that were given first in their partitions; null = nothing is out. */
  nextLeaseEnd(): number | null {
    let next: number | null = null;
    for (const ofPartition of this.#byPartition.values()) {
      for (const { leaseEndsAt } of ofPartition.values()) {
        next = Math.min(next ?? Infinity, leaseEndsAt);
        break;
      }
    }
    return next;
  }
}
