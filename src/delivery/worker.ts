import { MAX_HANDLER_MS } from "../contract/queue-limits.ts";
import type { OutgoingBatch, Verdict } from "./batch.ts";
import { CallLog, type HandlerBatch } from "./call-log.ts";
import { failureText, LATE, within } from "./ending.ts";
import { fold } from "./fold.ts";
import { askAgain, hasNoHelper, isPlainAnswer, mayHaveHelper } from "./helper.ts";
import { plainBatch } from "./outgoing.ts";
import { DELIVER, type PlainBatch } from "./protocol.ts";
import { isUnreachable } from "./unreachable.ts";

/** How long calls that are still on their way at the end of a handler are waited for. */
const LAST_CALLS_MS = 5000;
const TOO_LONG = `the handler ran longer than ${MAX_HANDLER_MS / 60_000} minutes`;

/** A consumer Worker: what it exports is called as a method of its service binding. */
interface Consumer {
  queue(batch: HandlerBatch): Promise<unknown>;
  [DELIVER](batch: PlainBatch): Promise<unknown>;
}

/**
 * Runs a consumer Worker's handler on a batch: through the method of the helper (`waggle-mq/consumer`) if it has that, else
 * through an unmodified `queue()`. Never rejects. What a handler returns is of no interest, but it must be a value that can
 * be sent, or the call fails after the handler has succeeded.
 */
export async function deliverToWorker(service: Fetcher, binding: string, batch: OutgoingBatch): Promise<Verdict> {
  const consumer = service as unknown as Consumer;
  try {
    const plain = plainBatch(batch);
    if (mayHaveHelper(binding)) {
      const verdict = await callHelper(consumer, binding, plain);
      if (verdict !== null) return verdict;
    }
    return await callHandler(consumer, binding, plain);
  } catch (error) {
    return failed(batch.messages.length, failureText(error));
  }
}

/** null = it has no helper. */
async function callHelper(consumer: Consumer, binding: string, batch: PlainBatch): Promise<Verdict | null> {
  const count = batch.messages.length;
  try {
    const answer = await within(consumer[DELIVER](batch), MAX_HANDLER_MS);
    if (answer === LATE) return failed(count, TOO_LONG);
    if (!isPlainAnswer(answer, count)) return failed(count, "the answer of the consumer's helper is none");
    return { kind: "done", decisions: fold(count, answer.calls, answer.error !== null), error: answer.error };
  } catch (error) {
    if (hasNoHelper(binding, error)) return null;
    return isUnreachable(error) ? unreachable(error) : failed(count, failureText(error));
  }
}

async function callHandler(consumer: Consumer, binding: string, batch: PlainBatch): Promise<Verdict> {
  const log = new CallLog(binding);
  let error: string | null = null;
  try {
    const result = await within(consumer.queue(log.handlerBatch(batch)), MAX_HANDLER_MS);
    if (result === LATE) error = TOO_LONG;
    else dispose(result);
  } catch (thrown) {
    // A handler that has made calls was reached, and has come by such an error in its own doings.
    if (isUnreachable(thrown) && log.calls.length === 0) {
      askAgain(binding);
      return unreachable(thrown);
    }
    error = failureText(thrown);
  }
  if (error !== TOO_LONG) await within(log.complete, LAST_CALLS_MS);
  log.close(error === TOO_LONG ? "abandoned" : "closed");
  return { kind: "done", decisions: fold(batch.messages.length, log.calls, error !== null), error };
}

/** The result of a call may hold something on the other side; nobody wants it here. */
function dispose(result: unknown): void {
  (result as Partial<Disposable> | null | undefined)?.[Symbol.dispose]?.();
}

function failed(count: number, error: string): Verdict {
  return { kind: "done", decisions: fold(count, [], true), error };
}

function unreachable(error: unknown): Verdict {
  return { kind: "unreachable", reason: failureText(error) };
}
