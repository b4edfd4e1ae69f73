import { HEARTBEAT_MS } from "../pop.ts";
import type { QueueCall } from "./call.ts";
import { queueFailureText } from "./envelope.ts";

const HEADERS = { "content-type": "application/json", "cache-control": "no-store" };
const encoder = new TextEncoder();

/**
 * Answers with what `work` takes its time for. From 15 s on the head of the answer is out and a space of JSON white space
 * follows every 15 s, so that proxies keep the connection; a failure then comes under status 200, and its envelope says
 * so. `signal` tells the work that nobody waits for it any more.
 */
export async function answerSlowly(
  { request, ctx }: QueueCall,
  work: (signal: AbortSignal) => Promise<string>,
): Promise<Response> {
  const gone = new AbortController();
  request.signal.addEventListener("abort", () => gone.abort());
  const worked = work(gone.signal);
  // Only a context that is kept alive hears that its caller has gone.
  ctx.waitUntil(worked.then(ignored, ignored));
  const early = await Promise.race([worked, scheduler.wait(HEARTBEAT_MS)]);
  if (early !== undefined) return new Response(early, { headers: HEADERS });
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  ctx.waitUntil(writeSlowly(worked, writable.getWriter(), gone));
  return new Response(readable, { headers: HEADERS });
}

async function writeSlowly(
  worked: Promise<string>,
  writer: WritableStreamDefaultWriter<Uint8Array>,
  gone: AbortController,
): Promise<void> {
  const ended = worked.catch(queueFailureText);
  try {
    for (;;) {
      await writer.write(encoder.encode(" "));
      const answer = await Promise.race([ended, scheduler.wait(HEARTBEAT_MS)]);
      if (answer === undefined) continue;
      await writer.write(encoder.encode(answer));
      await writer.close();
      return;
    }
  } catch {
    gone.abort();
  }
}

function ignored(): void {}
