import type { RestingRing } from "./resting.ts";
import type { Ring } from "./ring.ts";

/**
 * The partitions of a queue, by name. Those that nobody has asked for since their owner started rest; whoever gets hold
 * of one here has it awake.
 */
export class Rings {
  readonly #awake = new Map<string, Ring>();
  readonly #resting = new Map<string, RestingRing>();

  get size(): number {
    return this.#awake.size + this.#resting.size;
  }

  has(partition: string): boolean {
    return this.#awake.has(partition) || this.#resting.has(partition);
  }

  get(partition: string): Ring | undefined {
    return this.#awake.get(partition) ?? this.#wake(partition);
  }

  set(partition: string, ring: Ring): void {
    this.#awake.set(partition, ring);
  }

  delete(partition: string): void {
    this.#awake.delete(partition);
  }

  rest(ring: RestingRing): void {
    this.#resting.set(ring.state.partition, ring);
  }

  keys(): string[] {
    return [...this.#awake.keys(), ...this.#resting.keys()];
  }

  /** All of them, awake from now on. */
  values(): MapIterator<Ring> {
    this.wakeIf(() => true);
    return this.#awake.values();
  }

  /** Those that are awake, and those that are not: to look at without waking any. */
  get awake(): MapIterator<Ring> {
    return this.#awake.values();
  }

  get resting(): MapIterator<RestingRing> {
    return this.#resting.values();
  }

  wakeIf(chosen: (ring: RestingRing) => boolean): void {
    for (const [partition, ring] of this.#resting) if (chosen(ring)) this.#wake(partition);
  }

  #wake(partition: string): Ring | undefined {
    const resting = this.#resting.get(partition);
    if (resting === undefined) return undefined;
    this.#resting.delete(partition);
    return resting.wake();
  }
}
