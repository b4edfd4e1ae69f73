import { MAX_DELAY_SECONDS, MAX_HANDLER_MS } from "../contract/queue-limits.ts";
import type { OutgoingBatch, Verdict } from "./batch.ts";
import { failureText } from "./ending.ts";
import { fold } from "./fold.ts";
import { callsOf, requestBody } from "./http-body.ts";
import { signature } from "./signature.ts";

/** How much of an answer is read: a hundred retries need a tenth of it. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** How long a consumer that was not there is given to show that it is. */
const PROBE_MS = 10_000;
/** What the platform answers in the place of a server that it cannot connect to. */
const NOT_CONNECTED: ReadonlySet<number> = new Set([521, 522, 523, 525, 526, 530]);

/** URLs whose last request ended without an answer. */
const silent = new Set<string>();

interface HttpTarget {
  url: string;
  secret: string;
}

/**
 * POSTs a batch to an HTTP consumer. An answer of 2xx acks what it does not name under `retries`; any other retries the
 * batch, after its `Retry-After` if that is a number of seconds. Never rejects.
 *
 * A server that is not there costs no attempt. The runtime reports it like one that hangs up on a request that it has read,
 * so the first of such failures is free; after it, and until there is an answer again, a HEAD request goes first: if that
 * gets no answer either, nobody has been asked, and else a failure counts.
 */
export async function deliverToHttp({ url, secret }: HttpTarget, batch: OutgoingBatch): Promise<Verdict> {
  const wasSilent = silent.has(url);
  if (wasSilent) {
    const problem = await probe(url);
    if (problem !== null) return { kind: "unreachable", reason: problem };
  }
  try {
    const response = await post(url, secret, requestBody(batch));
    silent.delete(url);
    return await verdict(response, batch);
  } catch (error) {
    if (isTimeout(error)) return retried(batch, `no answer within ${MAX_HANDLER_MS / 60_000} minutes`);
    silent.add(url);
    const reason = noAnswer(url, error);
    return wasSilent ? retried(batch, reason) : { kind: "unreachable", reason };
  }
}

async function post(url: string, secret: string, body: string): Promise<Response> {
  const signed = await signature(secret, body, Date.now());
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "user-agent": "waggle", "waggle-signature": signed },
    body,
    // A batch goes where the declaration says, and nowhere else.
    redirect: "manual",
    signal: AbortSignal.timeout(MAX_HANDLER_MS),
  });
}

async function verdict(response: Response, batch: OutgoingBatch): Promise<Verdict> {
  const { status } = response;
  try {
    if (response.ok) {
      const calls = callsOf(await textOf(response), batch.messages);
      return { kind: "done", decisions: fold(batch.messages.length, calls, false), error: null };
    }
    await response.body?.cancel();
  } catch (error) {
    return retried(batch, failureText(error));
  }
  if (NOT_CONNECTED.has(status)) return { kind: "unreachable", reason: `no connection to the consumer: ${status}` };
  const redirects = status >= 300 && status < 400 ? ", and redirects are not followed" : "";
  return retried(batch, `the consumer answered ${status}${redirects}`, retryAfter(response));
}

/** The text of an answer. Throws when it is longer than any that makes sense. */
async function textOf({ body }: Response): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`the consumer's answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Whether anybody is there: any answer will do. Says what is wrong, or null. */
async function probe(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { method: "HEAD", redirect: "manual", signal: AbortSignal.timeout(PROBE_MS) });
    return NOT_CONNECTED.has(response.status) ? `no connection to the consumer: ${response.status}` : null;
  } catch (error) {
    return noAnswer(url, error);
  }
}

/** Names the host alone: the rest of a URL may be a secret. */
function noAnswer(url: string, error: unknown): string {
  return `no answer from ${URL.parse(url)?.host ?? "a bad URL"}: ${failureText(error)}`;
}

function retried({ messages }: OutgoingBatch, error: string, delaySeconds: number | null = null): Verdict {
  const decisions = fold(messages.length, [{ kind: "retry", message: null, delaySeconds }], true);
  return { kind: "done", decisions, error };
}

/** The seconds that an answer asks to wait; a date, or more than the longest delay, is no answer to that. */
function retryAfter({ headers }: Response): number | null {
  const given = headers.get("retry-after") ?? "";
  return /^\d{1,5}$/.test(given) && Number(given) <= MAX_DELAY_SECONDS ? Number(given) : null;
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === "TimeoutError";
}
