/** What a test has a handler do: the body of the first message of a batch. */
export type Step =
  | ["ack" | "retry", number, QueueRetryOptions?]
  | ["ackAll"]
  | ["retryAll", QueueRetryOptions?]
  | ["wait", number]
  | ["throw", string]
  /** The rest goes on in `ctx.waitUntil`. */
  | ["background"]
  /** The rest goes on in a promise that nobody awaits, holding its own copies of the functions. */
  | ["linger"]
  | ["return", "object" | "instance" | "stub"];

/** What a handler was given, as a test asks for it afterwards. */
export interface Seen {
  queue: string;
  metadata: MessageBatchMetadata;
  messages: { id: string; timestamp: Date; body: unknown; attempts: number }[];
  env: string[];
  ended: boolean;
}

let last: Seen | null = null;

export function seen(): Seen | null {
  return last;
}

/** What no call can carry: an instance of a class. */
class Odd {
  readonly done = true;
}

/** Does what the batch says, and remembers it. */
export async function follow(batch: MessageBatch, env: object, ctx: ExecutionContext): Promise<unknown> {
  const messages = batch.messages.map(({ id, timestamp, body, attempts }) => ({ id, timestamp, body, attempts }));
  const record = { queue: batch.queue, metadata: batch.metadata, messages, env: Object.keys(env), ended: false };
  last = record;
  const [first] = batch.messages;
  const steps = (first?.body as { steps?: Step[] } | null)?.steps ?? [];
  const result = await perform(steps, batch, ctx);
  record.ended = true;
  return result;
}

async function perform(steps: readonly Step[], batch: MessageBatch, ctx: ExecutionContext): Promise<unknown> {
  for (const [at, step] of steps.entries()) {
    switch (step[0]) {
      case "ack":
        batch.messages[step[1]]?.ack();
        break;
      case "retry":
        batch.messages[step[1]]?.retry(step[2]);
        break;
      case "ackAll":
        batch.ackAll();
        break;
      case "retryAll":
        batch.retryAll(step[1]);
        break;
      case "wait":
        await scheduler.wait(step[1]);
        break;
      case "throw":
        throw new RangeError(step[1]);
      case "background":
        ctx.waitUntil(perform(steps.slice(at + 1), batch, ctx));
        return;
      case "linger":
        ctx.waitUntil(perform(steps.slice(at + 1), kept(batch), ctx));
        return;
      case "return":
        return { object: { done: true }, instance: new Odd(), stub: () => {} }[step[1]];
    }
  }
}

function dup<T>(stub: T): T {
  return (stub as { dup(): T }).dup();
}

/** A batch whose functions outlive the handler, which nothing but a stub's own `dup` brings about. */
function kept(batch: MessageBatch): MessageBatch {
  return { ...batch, messages: batch.messages.map((message) => ({ ...message, retry: dup(message.retry) })) };
}
