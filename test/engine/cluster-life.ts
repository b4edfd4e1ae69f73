/** What becomes of a call. The dice say it, and once they have all been thrown nothing fails any more. */
const FATES = ["lost", "answer lost", "late", "answer late"] as const;
type Fate = (typeof FATES)[number] | "well";

/** Numbers that decide what the run leaves open. */
export class Dice {
  /** While they are away, all goes well. */
  areAway = false;
  readonly #numbers: readonly number[];
  #thrown = 0;

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers;
  }

  get next(): number {
    return this.areAway ? Infinity : (this.#numbers[this.#thrown++] ?? Infinity);
  }

  /** Nothing fails from here on. */
  putAway(): void {
    this.#thrown = this.#numbers.length;
  }

  get fate(): Fate {
    return FATES[this.next] ?? "well";
  }

  lateMs(): number {
    const { next } = this;
    return next === Infinity ? 0 : (next % 10) * 150 + 1;
  }
}

/** A life of an object or of a client. Whoever it calls is not heard of after it. */
export class Life {
  endedAt = Infinity;
  readonly #mourners = new Set<() => void>();

  get isOver(): boolean {
    return this.endedAt < Infinity;
  }

  end(now: number): void {
    this.endedAt = now;
  }

  /** Lets everybody know who waits for it. */
  mourn(): void {
    for (const mourn of this.#mourners) mourn();
  }

  /** Calls `mourn` when this life ends before the function that this answers has been called. */
  outliving(mourn: () => void): () => void {
    this.#mourners.add(mourn);
    return () => this.#mourners.delete(mourn);
  }
}
