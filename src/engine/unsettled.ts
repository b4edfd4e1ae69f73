import type { Handed } from "./batch.ts";
import { SeqMap } from "./seq-map.ts";

/** A message in the hands of a subscriber. */
interface Unsettled {
  readonly partition: string;
  readonly seq: number;
  readonly attempts: number;
  readonly chars: number;
  readonly batch: SentBatch;
  isOut: boolean;
}

/** Messages that a subscriber was sent together. */
interface SentBatch {
  readonly number: number;
  readonly handed: Handed[];
  /** The length of each message. */
  readonly lengths: readonly number[];
  /** How much had been sent up to its end. */
  readonly sentChars: number;
  readonly leaseEndsAt: number;
  /** Each on its own, once one of them has been asked for; null = all of them are out. */
  messages: Unsettled[] | null;
  /** How many are still out, and how long those are. */
  left: number;
  leftChars: number;
}

/**
 * The messages that a subscriber has not settled, in the batches that it was sent. Whoever acks whole batches costs no more
 * than that; with the first ack of a single message, which names its partition and number, the messages are known by those,
 * too, until nothing is out any more.
 */
export class UnsettledMessages {
  /** How many are out, and how long those are. */
  size = 0;
  chars = 0;
  /** How much has ever been sent, and how much of that has been read for certain: up to the end of a batch that was acked. */
  sentChars = 0;
  readChars = 0;
  #lastNumber: number;
  readonly #batches = new Map<number, SentBatch>();
  /** Numbers are looked up several times as fast as texts made of partition and number. */
  #byPartition: Map<string, SeqMap<Unsettled>> | null = null;

  /**
   * A socket may outlive its owner's sleep, and a late ack of a batch from before must not be taken for one of what was sent
   * since: numbers count up from the time, in microseconds.
   */
  constructor(now: number) {
    this.#lastNumber = now * 1000;
  }

  /** A batch is about to be sent, with messages of these lengths. Answers its number. */
  add(handed: Handed[], lengths: readonly number[], leaseEndsAt: number): number {
    // A message that comes again may not have been settled by this subscriber, but by somebody else in its name.
    for (const { partition, seqs, attempts } of handed) {
      for (const [i, seq] of seqs.entries()) if (attempts[i] !== 1) this.#forget(this.#find(partition, seq));
    }
    const number = ++this.#lastNumber;
    const chars = lengths.reduce((sum, length) => sum + length, 0);
    this.sentChars += chars;
    const batch: SentBatch = {
      number,
      handed,
      lengths,
      sentChars: this.sentChars,
      leaseEndsAt,
      messages: null,
      left: lengths.length,
      leftChars: chars,
    };
    this.#batches.set(number, batch);
    this.size += batch.left;
    this.chars += chars;
    if (this.#byPartition !== null) this.#spread(batch, this.#byPartition);
    return number;
  }

  /** One message has been settled, if it is out; `attempts` tells which delivery is meant. */
  settle(partition: string, seq: number, attempts: number | undefined): void {
    const message = this.#find(partition, seq);
    if (message === undefined || (attempts !== undefined && attempts !== message.attempts)) return;
    this.#read(message.batch);
    this.#forget(message);
  }

  /** What is still out of a batch. */
  inBatch(number: number): Handed[] {
    const batch = this.#batches.get(number);
    if (batch === undefined) return [];
    return batch.messages === null ? batch.handed : outOf([batch]);
  }

  /** What was still out of a batch has been settled. */
  settleBatch(number: number): void {
    const batch = this.#batches.get(number);
    if (batch === undefined) return;
    this.#read(batch);
    this.#drop(batch);
  }

  /** Leases have ended: those messages are no longer in the subscriber's hands. */
  expire(now: number): void {
    for (const batch of this.#batches.values()) if (batch.leaseEndsAt <= now) this.#drop(batch);
  }

  /** Nothing is out any more. Answers what was. */
  clear(): Handed[] {
    const out = outOf(this.#batches.values());
    for (const batch of this.#batches.values()) this.#drop(batch);
    return out;
  }

  /**
   * When the next lease ends; null = nothing is out. Batches are taken in the order in which they were sent: leases that a
   * declaration has made shorter meanwhile wait for those before them.
   */
  get nextLeaseEnd(): number | null {
    for (const { leaseEndsAt } of this.#batches.values()) return leaseEndsAt;
    return null;
  }

  #read({ sentChars }: SentBatch): void {
    this.readChars = Math.max(this.readChars, sentChars);
  }

  #find(partition: string, seq: number): Unsettled | undefined {
    if (this.#byPartition === null) {
      this.#byPartition = new Map();
      for (const batch of this.#batches.values()) this.#spread(batch, this.#byPartition);
    }
    return this.#byPartition.get(partition)?.get(seq);
  }

  #spread(batch: SentBatch, byPartition: Map<string, SeqMap<Unsettled>>): void {
    const messages: Unsettled[] = [];
    for (const { partition, seqs, attempts } of batch.handed) {
      let ofPartition = byPartition.get(partition);
      if (ofPartition === undefined) byPartition.set(partition, (ofPartition = new SeqMap()));
      for (let i = 0; i < seqs.length; i++) {
        const chars = batch.lengths[messages.length] ?? 0;
        const seq = seqs[i] as number;
        const message = { partition, seq, attempts: attempts[i] ?? 1, chars, batch, isOut: true };
        ofPartition.set(message);
        messages.push(message);
      }
    }
    batch.messages = messages;
  }

  #forget(message: Unsettled | undefined): void {
    if (message === undefined) return;
    const { partition, seq, batch, chars } = message;
    message.isOut = false;
    this.#byPartition?.get(partition)?.delete(seq);
    batch.leftChars -= chars;
    if (--batch.left === 0) this.#batches.delete(batch.number);
    this.#released(1, chars);
  }

  #drop(batch: SentBatch): void {
    for (const { isOut, partition, seq } of batch.messages ?? []) {
      if (isOut) this.#byPartition?.get(partition)?.delete(seq);
    }
    this.#batches.delete(batch.number);
    this.#released(batch.left, batch.leftChars);
  }

  #released(count: number, chars: number): void {
    this.size -= count;
    this.chars -= chars;
    if (this.size === 0) this.#byPartition = null;
  }
}

/** What is out of batches, as the owners know it: by partition, with the deliveries that are meant. */
function outOf(batches: Iterable<SentBatch>): Handed[] {
  const byPartition = new Map<string, Handed>();
  for (const { handed, messages } of batches) {
    let index = 0;
    for (const { partition, seqs, attempts } of handed) {
      for (let i = 0; i < seqs.length; i++) {
        if (messages?.[index++]?.isOut === false) continue;
        let out = byPartition.get(partition);
        if (out === undefined) byPartition.set(partition, (out = { partition, seqs: [], attempts: [] }));
        out.seqs.push(seqs[i] as number);
        out.attempts.push(attempts[i] as number);
      }
    }
  }
  return [...byPartition.values()];
}
