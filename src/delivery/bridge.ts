import type { Env } from "../config.ts";
import { WaggleError } from "../contract/errors.ts";
import { QueueError } from "../contract/queue-errors.ts";
import { remoteDeclarations } from "../objects/remote.ts";
import { targetOf, type Target } from "./bridge-target.ts";

/** How long a message waits that could not be pushed; doubled with every delivery. */
const FIRST_DELAY_SECONDS = 10;
const LAST_DELAY_SECONDS = 600;

/** Refusals that fewer messages may escape. */
const TOO_MUCH: ReadonlySet<unknown> = new Set([10205, 10250, 10251, "queue_full"]);

/**
 * The Worker's `queue()` handler: pushes the messages of a real Cloudflare Queue into the queue that a bridge is declared
 * to. A message is acked once its push was accepted, and retried in every other case. So nothing is lost that the source
 * does not give up, and what can never be pushed ends in the source's own dead-letter queue.
 */
export async function bridge(batch: MessageBatch, env: Env): Promise<void> {
  const source = batch.queue;
  try {
    const declared = await remoteDeclarations(env).bridge(source);
    if (declared !== null) return await pushAll(batch.messages, targetOf(declared.target, env), source);
    batch.retryAll();
    console.error(
      `messages of the Cloudflare Queue ${JSON.stringify(source)} are retried, since there is no bridge from it: declare one by PUT /api/v1/bridges/${encodeURIComponent(source)}`,
    );
  } catch (error) {
    batch.retryAll({ delaySeconds: FIRST_DELAY_SECONDS });
    console.error(`messages of the Cloudflare Queue ${JSON.stringify(source)} are retried:`, error);
  }
}

/** Pushes in order, as many at once as the target takes: half as many after each refusal for being too much. */
async function pushAll(messages: readonly Message[], target: Target, source: string): Promise<void> {
  const rest = messages.filter((message) => canBePushed(message, target, source));
  for (let size = rest.length; rest.length > 0;) {
    const part = rest.slice(0, size);
    try {
      await target.push(part.map(({ body }) => body));
    } catch (error) {
      if (part.length > 1 && TOO_MUCH.has((error as { code?: unknown }).code)) {
        size = part.length >> 1;
        continue;
      }
      // What comes after this one would overtake it.
      for (const message of rest) retry(message, error, source);
      return;
    }
    for (const message of part) message.ack();
    rest.splice(0, part.length);
  }
}

/** A message that can never be pushed must not hold up the others. */
function canBePushed(message: Message, target: Target, source: string): boolean {
  try {
    target.check(message.body);
    return true;
  } catch (error) {
    retry(message, error, source);
    return false;
  }
}

function retry(message: Message, error: unknown, source: string): void {
  if (canPass(error)) {
    const delaySeconds = Math.min(FIRST_DELAY_SECONDS * 2 ** (message.attempts - 1), LAST_DELAY_SECONDS);
    message.retry({ delaySeconds });
    return;
  }
  message.retry();
  console.error(
    `message ${message.id} of the Cloudflare Queue ${JSON.stringify(source)} is refused and will be again, until its queue gives it up:`,
    error,
  );
}

/** Whether the same push may be accepted later. What is no refusal is a disturbance. */
function canPass(error: unknown): boolean {
  if (error instanceof QueueError) return error.retryable;
  return !(error instanceof WaggleError) || error.retryAfterSeconds !== undefined;
}
