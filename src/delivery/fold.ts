import type { Decision } from "./batch.ts";
import type { Call } from "./protocol.ts";

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
