import type { WorkerEntrypoint } from "cloudflare:workers";
import { DELIVER, type PlainAnswer, type PlainBatch } from "../delivery/protocol.ts";
import { run } from "./run.ts";

/** What the broker calls in place of `queue`. */
export interface Deliverable {
  [DELIVER](batch: PlainBatch): Promise<PlainAnswer>;
}

/** A Worker that is written as a class. */
type EntrypointClass = new (ctx: ExecutionContext, env: never) => WorkerEntrypoint;

/**
 * Wraps a Worker's `queue()` handler, so that Waggle learns what it decided in one answer: at the end of everything that it
 * has started with `ctx.waitUntil`, decisions made there included, and with a rejection there counting as a failure. Other
 * handlers stay as they are, and under Cloudflare Queues so does this one.
 *
 * ```ts
 * import { consumer } from "waggle-mq/consumer";
 *
 * export default consumer<Env, Order>({
 *   async queue(batch, env, ctx) {
 *     for (const message of batch.messages) ctx.waitUntil(save(message.body, env).then(() => message.ack()));
 *   },
 * });
 * ```
 *
 * A class that extends `WorkerEntrypoint` is wrapped the same way, as the default export or as a named one.
 */
export function consumer<Entrypoint extends EntrypointClass>(entrypoint: Entrypoint): Entrypoint;
export function consumer<Env = unknown, Body = unknown>(
  handlers: ExportedHandler<Env, Body>,
): ExportedHandler<Env, Body>;
export function consumer(given: EntrypointClass | ExportedHandler): EntrypointClass | ExportedHandler {
  return typeof given === "function" ? wrapClass(given) : wrapHandlers(given);
}

function wrapHandlers(handlers: ExportedHandler): ExportedHandler {
  const { queue } = handlers;
  if (queue === undefined) throw new TypeError("consumer() was given no queue() handler");
  return {
    ...handlers,
    // A method of a plain object must declare exactly these three to be called from outside.
    [DELIVER]: (plain: PlainBatch, env: unknown, ctx: ExecutionContext) =>
      run(plain, ctx, (batch, watched) => queue.call(handlers, batch, env, watched)),
  } as ExportedHandler;
}

function wrapClass(entrypoint: EntrypointClass): EntrypointClass {
  if (typeof entrypoint.prototype.queue !== "function") {
    throw new TypeError(`consumer() was given a class, ${entrypoint.name}, that has no queue() method`);
  }
  return class extends entrypoint implements Deliverable {
    [DELIVER](plain: PlainBatch): Promise<PlainAnswer> {
      return run(plain, this.ctx, (batch, watched) => {
        // The runtime makes an instance for each call.
        Object.defineProperty(this, "ctx", { value: watched });
        return this.queue?.(batch);
      });
    }
  };
}
