import { Consumer, type ConsumeOptions } from "./consume.ts";
import { jsonOf, type Ephemeral } from "./ephemeral.ts";
import { WaggleError } from "./error.ts";
import { Gathers } from "./gather.ts";
import type { Reply } from "./inbox.ts";
import type { Message } from "./types.ts";

/** How many pushes of replies to one inbox are out at the same time; beyond, they go together. */
const MAX_CALLS = 4;
const CONCURRENCY = 10;

/** A request on the wire. */
export interface Request {
  replyTo: string;
  correlationId: string;
  /** How long the requester waits, from when it asked. */
  timeoutMs: number;
  payload: unknown;
}

export type RespondOptions = Omit<ConsumeOptions, "batch">;

/** What a handler may want to know of a request. */
export interface RequestContext {
  /** 1 at the first delivery: another responder may have begun before. */
  attempts: number;
  /** Asks whether anybody still waits for the reply, before work that is not worth doing for nobody. */
  isWaiting(): Promise<boolean>;
}

export type Responder = (payload: never, context: RequestContext) => unknown;

/**
 * Answers the requests of a queue. Those of other programs, which name an inbox as `replyTo` and no correlation id, are handed
 * over whole and get the bare answer.
 */
export async function respond(
  ephemeral: Ephemeral,
  queue: string,
  handler: Responder,
  { concurrency = CONCURRENCY, ...options }: RespondOptions,
): Promise<void> {
  const replies = new Gathers((inbox, texts) => {
    // A reply into an inbox that nobody reads would lie there for good.
    return ephemeral.pushTexts(inbox, texts, { requireResponders: true });
  }, MAX_CALLS);

  const reply = async (inbox: string, answer: unknown) => {
    try {
      await replies.add(inbox, jsonOf(answer));
    } catch (error) {
      // The requester has gone: there is nobody to tell.
      if (!(error instanceof WaggleError && error.code === "no_responders")) throw error;
    }
  };

  const handle = async ({ payload, attempts }: Message) => {
    const startedAt = Date.now();
    if (!isRequest(payload)) {
      const { replyTo } = (payload ?? {}) as Partial<Request>;
      const isWaiting = async () => typeof replyTo !== "string" || ephemeral.isListening(replyTo);
      const answer = await handler(payload as never, { attempts, isWaiting });
      // It may pop only after it has asked.
      if (typeof replyTo === "string") await ephemeral.push(replyTo, [answer ?? null]);
      return;
    }
    const { replyTo, correlationId, timeoutMs } = payload;
    const isWaiting = async () =>
      Date.now() - startedAt < timeoutMs && ephemeral.isListening(replyTo, { partition: "Default" });
    let answer: Reply;
    try {
      const result = await handler(payload.payload as never, { attempts, isWaiting });
      answer = { correlationId, payload: result ?? null };
    } catch (error) {
      answer = { correlationId, error: error instanceof Error ? error.message : String(error) };
    }
    await reply(replyTo, answer);
  };

  const consumer = new Consumer(ephemeral, queue, { ...options, concurrency, batch: concurrency }, handle);
  await consumer.run();
}

function isRequest(payload: unknown): payload is Request {
  const { replyTo, correlationId } = (payload ?? {}) as Partial<Request>;
  return typeof replyTo === "string" && typeof correlationId === "string";
}
