import { MAX_DELAY_SECONDS } from "../contract/queue-limits.ts";

/**
 * The delay that the options of a retry name; null = none. Throws what a consumer's log is to show: the retry itself counts
 * all the same, with the delay that the consumer declared.
 */
export function retryDelay(options: unknown): number | null {
  if (options === undefined || options === null) return null;
  const given: unknown = (options as { delaySeconds?: unknown }).delaySeconds;
  if (given === undefined || given === null) return null;
  if (Number.isInteger(given) && Number(given) >= 0 && Number(given) <= MAX_DELAY_SECONDS) return Number(given);
  throw new TypeError(
    `retry: delaySeconds is ${JSON.stringify(given) ?? typeof given}; it must be a whole number of seconds from 0 to ${MAX_DELAY_SECONDS}`,
  );
}
