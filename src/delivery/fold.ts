import { MAX_DELAY_SECONDS } from "../contract/queue-limits.ts";
import type { Decision } from "./batch.ts";

/** One call that a handler made on its batch. Plain data: the consumer's helper sends a list of them. */
export interface Call {
  kind: "ack" | "retry";
  /** The message's place in the batch; null = the call was on the batch as a whole. */
  message: number | null;
  /** Of a retry: the delay that it names. */
  delaySeconds: number | null;
}

const ACK: Decision = { kind: "ack" };

/** What is decided of a message while calls are read. A retry without a delay of its own takes that of the batch. */
type Own = Decision | undefined;

/**
 * What becomes of each message of a batch, from the calls of its handler in the order in which they were made and from how
 * it ended. The first call on a message wins, and so does the first on the batch; a call on a message before one on the
 * batch stands; another retry only changes the delay. What nobody decided is acked after a success and retried after a
 * failure.
 */
export function fold(count: number, calls: Iterable<Call>, failed: boolean): Decision[] {
  const own = Array.from({ length: count }, (): Own => undefined);
  let batch: Own;
  for (const { kind, message, delaySeconds } of calls) {
    if (batch?.kind === "ack") break;
    if (message === null) {
      batch = next(batch, kind, delaySeconds);
      continue;
    }
    // Nothing is left for an ack once the whole batch is retried.
    if (batch !== undefined && kind === "ack") continue;
    own[message] = next(own[message], kind, delaySeconds);
  }
  const rest = batch ?? (failed ? { kind: "retry" as const, delaySeconds: null } : ACK);
  return own.map((decision) => decided(decision ?? rest, batch));
}

function next(before: Own, kind: Call["kind"], delaySeconds: number | null): Decision {
  if (before === undefined) return kind === "ack" ? ACK : { kind, delaySeconds };
  if (before.kind === "ack" || kind === "ack") return before;
  return { kind, delaySeconds: delaySeconds ?? before.delaySeconds };
}

function decided(decision: Decision, batch: Own): Decision {
  if (decision.kind === "ack" || decision.delaySeconds !== null || batch?.kind !== "retry") return decision;
  return batch;
}

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
