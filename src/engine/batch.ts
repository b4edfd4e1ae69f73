import { MAX_ANSWER_BYTES } from "../contract/limits.ts";
import type { Message } from "./message.ts";

/** Deliveries of one partition: which messages, and the how manieth delivery of each. */
export interface Handed {
  partition: string;
  seqs: number[];
  attempts: number[];
}

/**
 * The messages of one answer, each as the JSON text that goes over the wire: a payload is never parsed, so that an
 * answer is a concatenation and the payload comes back byte for byte.
 */
export class Batch {
  readonly items: string[] = [];
  /** What was handed over, to give it back by. */
  readonly handed: Handed[] = [];
  #bytes = 0;

  constructor(
    readonly limit: number,
    readonly maxBytes = MAX_ANSWER_BYTES,
  ) {}

  get count(): number {
    return this.items.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether one more payload fits. The first always does: a single message may be as large as a whole answer. */
  hasRoomFor(message: Message): boolean {
    if (this.items.length >= this.limit) return false;
    const isWholeAnswer = this.items.length === 0 && this.maxBytes === MAX_ANSWER_BYTES;
    return isWholeAnswer || this.#bytes + message.bytes <= this.maxBytes;
  }

  /** Adds what another batch took. */
  append(other: Pick<Batch, "items" | "handed" | "bytes">): void {
    for (const item of other.items) this.items.push(item);
    this.handed.push(...other.handed);
    this.#bytes += other.bytes;
  }

  /** Takes the first `count` messages out, for one of several pops that were served together. */
  split(count: number): Batch {
    const part = new Batch(count);
    part.items.push(...this.items.splice(0, count));
    for (let left = part.items.length; left > 0;) {
      const run = this.handed[0];
      if (run === undefined) break;
      const seqs = run.seqs.splice(0, left);
      part.handed.push({ partition: run.partition, seqs, attempts: run.attempts.splice(0, left) });
      left -= seqs.length;
      if (run.seqs.length === 0) this.handed.shift();
    }
    return part;
  }

  add(message: Message, attempts: number): void {
    const { partition, wire } = message.ring;
    this.items.push(wire.item(message.seq, attempts, message.payload));
    this.#bytes += message.bytes;
    const last = this.handed.at(-1);
    if (last === undefined || last.partition !== partition) {
      this.handed.push({ partition, seqs: [message.seq], attempts: [attempts] });
    } else {
      last.seqs.push(message.seq);
      last.attempts.push(attempts);
    }
  }
}
