import type { Broker } from "../broker.ts";
import type { PopRequest } from "../engine/engine.ts";
import type { PopAnswer } from "../objects/protocol.ts";

/** A longer wait is kept alive, and its caller's departure noticed, by a space of JSON white space this often. */
export const HEARTBEAT_MS = 15_000;

const NO_STORE = { "content-type": "application/json", "cache-control": "no-store" };
const SPACE = new TextEncoder().encode(" ");

/**
 * Answers a pop. A caller that leaves takes nothing: its parked pop is ended, and what was handed out for it but could
 * not be written goes back with its attempts unchanged (an auto-acked message is lost with its caller).
 */
export async function answerPop(
  broker: Broker,
  request: PopRequest,
  signal: AbortSignal,
  ctx: ExecutionContext,
): Promise<Response> {
  const popped = guard(broker, request, signal, ctx);
  if (request.waitMs <= HEARTBEAT_MS) return respond(request, await popped);
  const early = await Promise.race([popped, scheduler.wait(HEARTBEAT_MS)]);
  if (early !== undefined) return respond(request, early);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  ctx.waitUntil(writeSlowly(broker, request, popped, writable.getWriter()));
  return new Response(readable, { headers: NO_STORE });
}

/** Pops, and takes the pop back when the caller leaves before its answer is there. */
async function guard(
  broker: Broker,
  request: PopRequest,
  signal: AbortSignal,
  ctx: ExecutionContext,
): Promise<PopAnswer> {
  const popped = broker.pop(request);
  if (request.waitMs === 0) return popped;
  const leave = () => ctx.waitUntil(broker.cancel(request).catch(ignored));
  signal.addEventListener("abort", leave);
  // Only a context that is kept alive hears that its caller has gone.
  ctx.waitUntil(popped.then((answer) => (signal.aborted ? broker.release(request, answer) : undefined), ignored));
  try {
    return await popped;
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/** Writes white space until the pop is over, then its answer. After the head is out, a failure ends as an empty array. */
async function writeSlowly(
  broker: Broker,
  request: PopRequest,
  popped: Promise<PopAnswer>,
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  const ended = popped.catch((): PopAnswer => ({ json: "", count: 0, handed: [] }));
  try {
    for (;;) {
      await writer.write(SPACE);
      const answer = await Promise.race([ended, scheduler.wait(HEARTBEAT_MS)]);
      if (answer === undefined) continue;
      for (const part of body(request, answer)) {
        await writer.write(typeof part === "string" ? new TextEncoder().encode(part) : part);
      }
      await writer.close();
      return;
    }
  } catch {
    // The connection is gone. The cancelled pop answers at once, with what it may have been handed just before.
    await broker.cancel(request).catch(ignored);
    const answer = await ended;
    if (answer.count > 0) await broker.release(request, answer).catch(ignored);
  }
}

function respond(request: PopRequest, answer: PopAnswer): Response {
  const parts = body(request, answer);
  const isText = typeof answer.json === "string";
  const whole = isText ? parts.join("") : new Blob(parts as (string | Uint8Array<ArrayBuffer>)[]);
  return new Response(whole, { headers: NO_STORE });
}

function body(request: PopRequest, { json }: PopAnswer): (string | Uint8Array)[] {
  return [`{"queue":${JSON.stringify(request.queue)},"messages":[`, json, "]}"];
}

function ignored(): void {}
