import type { CallBudget } from "../delivery/call-budget.ts";
import { isQueueRefusal, type QueueRefusal } from "../contract/queue-errors.ts";
import type { Cursor } from "../durable/cursor.ts";
import type { Partition } from "../durable/partition.ts";
import type { DeadLetter } from "../durable/message.ts";

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;

export interface DeadLetterEffects {
  /** Hands letters to the queue with this id. */
  receive(queueId: string, source: string, letters: DeadLetter[]): Promise<null | QueueRefusal>;
  /** Something has changed that the next turn must see. */
  turn(act: (partition: Partition, now: number) => void): void;
}

/**
 * Takes what was given up to its dead-letter queue: written there first, under a number that makes a repeat harmless, and
 * then removed here. What does not arrive is kept and sent again.
 */
export class DeadLetters {
  readonly #self: string;
  readonly #budget: CallBudget;
  readonly #effects: DeadLetterEffects;
  readonly #underWay = new Set<number>();
  #failures = 0;
  #retryAt = 0;

  /** `self` names the partition, among all of the broker. */
  constructor(self: string, budget: CallBudget, effects: DeadLetterEffects) {
    this.#self = self;
    this.#budget = budget;
    this.#effects = effects;
  }

  get isBusy(): boolean {
    return this.#underWay.size > 0;
  }

  /** When the next try is due; undefined = nothing waits for one. */
  deadline(partition: Partition): number | undefined {
    for (const cursor of partition.cursors) {
      if (partition.lettersWaiting(cursor) > 0 && !this.#underWay.has(cursor.number)) return this.#retryAt;
    }
    return undefined;
  }

  /** Sends what waits, as far as it may go now. */
  ship(partition: Partition, now: number): void {
    if (now < this.#retryAt) return;
    for (const cursor of partition.cursors) {
      if (partition.lettersWaiting(cursor) === 0 || this.#underWay.has(cursor.number)) continue;
      const { deadLetter } = cursor.consumer ?? { deadLetter: null };
      const letters = partition.lettersOf(cursor);
      if (letters.length === 0 || deadLetter === null || !this.#budget.take()) continue;
      this.#underWay.add(cursor.number);
      void this.#send(cursor, deadLetter, letters);
    }
  }

  async #send(cursor: Cursor, { queueId, queue }: { queueId: string; queue: string }, letters: DeadLetter[]) {
    const upTo = letters.at(-1)?.number ?? 0;
    const problem = await this.#try(queueId, `${this.#self}:${cursor.number}`, letters);
    this.#underWay.delete(cursor.number);
    this.#effects.turn((partition, now) => {
      if (problem === null) {
        this.#failures = 0;
        this.#retryAt = 0;
        partition.lettersArrived(cursor, upTo);
        return;
      }
      this.#retryAt = now + Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures);
      this.#failures++;
      console.error({ event: "dead_letters_refused", from: this.#self, to: queue, waiting: letters.length, problem });
    });
  }

  async #try(queueId: string, source: string, letters: DeadLetter[]): Promise<string | null> {
    try {
      const answer = await this.#effects.receive(queueId, source, letters);
      return isQueueRefusal(answer) ? answer.text : null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}
