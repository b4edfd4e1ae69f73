import { MAX_HANDLER_MS } from "../contract/queue-limits.ts";
import { failureText, LATE, within } from "../delivery/ending.ts";
import type { Call, PlainAnswer, PlainBatch } from "../delivery/protocol.ts";
import { retryDelay } from "../delivery/retry-delay.ts";
import { Background } from "./background.ts";

/** The answer must be on its way before the broker gives the batch up. */
const LIMIT_MS = MAX_HANDLER_MS - 10_000;

type Handle = (batch: MessageBatch, ctx: ExecutionContext) => unknown;

/** Runs a handler on a batch, and answers once it and all that it has started have settled. */
export async function run(plain: PlainBatch, ctx: ExecutionContext, handle: Handle): Promise<PlainAnswer> {
  const calls: Call[] = [];
  const background = new Background();
  const all = (async () => {
    const error = await failureOf(async () => handle(messageBatch(plain, calls), background.watch(ctx)));
    const failure = await background.failure();
    return error ?? failure;
  })();
  const error = await within(all, LIMIT_MS);
  // What is decided from now on must not change the answer while it is sent.
  return { calls: [...calls], error: error === LATE ? `the handler ran longer than ${LIMIT_MS / 1000} s` : error };
}

async function failureOf(handle: () => Promise<unknown>): Promise<string | null> {
  try {
    await handle();
    return null;
  } catch (error) {
    // The runtime would have logged it, had it not been caught.
    console.error(error);
    return failureText(error);
  }
}

/** The batch as Cloudflare Queues hands it over, with functions that note down what is called. */
function messageBatch({ queue, messages, metadata }: PlainBatch, calls: Call[]): MessageBatch {
  const ack = (message: number | null) => () => {
    calls.push({ kind: "ack", message, delaySeconds: null });
  };
  const retry = (message: number | null) => (options?: QueueRetryOptions) => {
    const call: Call = { kind: "retry", message, delaySeconds: null };
    calls.push(call);
    call.delaySeconds = retryDelay(options);
  };
  return {
    queue,
    metadata,
    messages: messages.map((message, index) => ({ ...message, ack: ack(index), retry: retry(index) })),
    ackAll: ack(null),
    retryAll: retry(null),
  };
}
