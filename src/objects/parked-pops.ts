import type { Refusal } from "../contract/errors.ts";
import type { Batch } from "../engine/batch.ts";
import type { PopRequest } from "../engine/engine.ts";
import type { Turn } from "./home.ts";

/** A pop may be cancelled before it has parked, while its queue is being registered; this many are remembered. */
const EARLY_CANCELS = 1000;

/** The callers of this owner's pops, while they wait for the engine's answer. */
export class ParkedPops {
  readonly #turn: Turn;
  readonly #parked = new Map<string, (batch: Batch) => void>();
  readonly #cancelledEarly = new Set<string>();

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** Resolves with what a pop gets. `parked` is told when it has to wait. */
  async pop(request: PopRequest, parked: () => void): Promise<Batch | Refusal> {
    const { waiterId } = request;
    const { promise, resolve } = Promise.withResolvers<Batch>();
    if (request.waitMs > 0) this.#parked.set(waiterId, resolve);
    try {
      const now = this.#turn((engine) => engine.pop(request));
      if (now !== null) return now;
      if (this.#cancelledEarly.delete(waiterId)) this.cancel(waiterId);
      parked();
      return await promise;
    } finally {
      this.#parked.delete(waiterId);
    }
  }

  /** The engine's answer to a pop that has waited. */
  answer(waiterId: string, batch: Batch): void {
    this.#parked.get(waiterId)?.(batch);
  }

  /** The caller of a parked pop has gone. */
  cancel(waiterId: string): void {
    if (this.#parked.has(waiterId)) {
      this.#turn((engine) => engine.cancel(waiterId));
      return;
    }
    this.#cancelledEarly.add(waiterId);
    const [oldest] = this.#cancelledEarly;
    if (this.#cancelledEarly.size > EARLY_CANCELS && oldest !== undefined) this.#cancelledEarly.delete(oldest);
  }
}
