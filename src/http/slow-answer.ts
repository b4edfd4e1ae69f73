import { HEARTBEAT_MS } from "./pop.ts";
import type { Call } from "./routes.ts";

const HEADERS = { "content-type": "application/json", "cache-control": "no-store" };
const encoder = new TextEncoder();

/**
 * Answers with what `work` takes its time for. From 15 s on the head of the answer is out and a space of JSON white space
 * follows every 15 s, so that proxies keep the connection; a failure then comes under status 200 with the body
 * that `failureText` makes of it. `signal` tells the work that nobody waits for it any more.
 */
export async function answerSlowly(
  { request, ctx }: Call,
  work: (signal: AbortSignal) => Promise<string>,
  failureText: (error: unknown) => string | Promise<string>,
): Promise<Response> {
  const gone = new AbortController();
  request.signal.addEventListener("abort", () => gone.abort());
  const worked = work(gone.signal);
  // Only a context that is kept alive hears that its caller has gone.
  ctx.waitUntil(worked.then(ignored, ignored));
  const early = await Promise.race([worked, scheduler.wait(HEARTBEAT_MS)]);
  if (early !== undefined) return new Response(early, { headers: HEADERS });
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  ctx.waitUntil(writeSlowly(worked.catch(failureText), writable.getWriter(), gone));
  return new Response(readable, { headers: HEADERS });
}

async function writeSlowly(
  ended: Promise<string>,
  writer: WritableStreamDefaultWriter<Uint8Array>,
  gone: AbortController,
): Promise<void> {
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
