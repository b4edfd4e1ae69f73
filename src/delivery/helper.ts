import { MAX_BATCH_MESSAGES, MAX_DELAY_SECONDS } from "../contract/queue-limits.ts";
import { lacksMethod } from "./unreachable.ts";
import { DELIVER, type PlainAnswer } from "./protocol.ts";

/** When a consumer that had no helper is asked again: it may have been deployed anew. */
const ASK_AGAIN_MS = 5 * 60_000;

/** Bindings whose consumers have no helper, and until when that is taken for granted. */
const without = new Map<string, number>();

/** Whether a binding's consumer has the helper, or has to be asked. */
export function mayHaveHelper(binding: string): boolean {
  return (without.get(binding) ?? 0) <= Date.now();
}

/** Notes what a failed call of the helper's method says. Answers whether there is no helper: then nobody was asked. */
export function hasNoHelper(binding: string, error: unknown): boolean {
  if (!lacksMethod(error, DELIVER)) return false;
  without.set(binding, Date.now() + ASK_AGAIN_MS);
  return true;
}

/** The consumer may be another one by the next time. */
export function askAgain(binding: string): void {
  without.delete(binding);
}

/** Whether this is what the helper answers; it comes from a Worker that may be deployed with anything. */
export function isPlainAnswer(answer: unknown, count: number): answer is PlainAnswer {
  const { calls, error } = (answer ?? {}) as Partial<PlainAnswer>;
  if (!Array.isArray(calls) || (error !== null && typeof error !== "string")) return false;
  return calls.every(
    ({ kind, message, delaySeconds }) =>
      (kind === "ack" || kind === "retry") &&
      (message === null || isWhole(message, Math.min(count, MAX_BATCH_MESSAGES) - 1)) &&
      (delaySeconds === null || isWhole(delaySeconds, MAX_DELAY_SECONDS)),
  );
}

function isWhole(value: unknown, max: number): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max;
}
