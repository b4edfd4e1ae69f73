/** One call is kept for the hand-over to a new event. */
const KEPT = 1;

/**
 * The outgoing calls that one event may still make: the platform allows 50 on its free plan and 10,000 on the paid one,
 * and some of those belong to others.
 */
export class CallBudget {
  readonly #limit: number;
  #left: number;

  constructor(limit: number) {
    this.#limit = limit - KEPT;
    this.#left = this.#limit;
  }

  get isSpent(): boolean {
    return this.#left === 0;
  }

  /** Answers whether another call may be made. */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    return true;
  }

  /** A new event has begun. */
  refill(): void {
    this.#left = this.#limit;
  }
}
