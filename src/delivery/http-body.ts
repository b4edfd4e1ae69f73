import * as z from "zod/mini";
import { parseOr } from "../contract/parse.ts";
import { MAX_BATCH_MESSAGES, MAX_DELAY_SECONDS } from "../contract/queue-limits.ts";
import { encodeBase64 } from "../durable/base64.ts";
import type { StoredMessage } from "../durable/message.ts";
import type { OutgoingBatch } from "./batch.ts";
import type { Call } from "./protocol.ts";

const decoder = new TextDecoder();

/**
 * What an HTTP consumer is sent: `{queue, messages: [{id, timestamp_ms, attempts, content_type, body}]}`. A body of content
 * type `json` stands there as the JSON value that it is, digit by digit as it was sent; `text` is a string; `bytes` and
 * `v8` are base64 of what is stored.
 */
export function requestBody({ queue, messages }: OutgoingBatch): string {
  return `{"queue":${JSON.stringify(queue)},"messages":[${messages.map(messageJson).join()}]}`;
}

function messageJson({ id, sentAt, attempts, type, body }: StoredMessage): string {
  const head = JSON.stringify({ id, timestamp_ms: sentAt, attempts, content_type: type });
  return `${head.slice(0, -1)},"body":${bodyJson(type, body)}}`;
}

function bodyJson(type: StoredMessage["type"], body: Uint8Array): string {
  switch (type) {
    case "json":
      return decoder.decode(body);
    case "text":
      return JSON.stringify(decoder.decode(body));
    case "bytes":
    case "v8":
      return JSON.stringify(encodeBase64(body));
  }
}

const answer = z.strictObject({
  retries: z.optional(
    z
      .array(
        z.strictObject({
          id: z.string(),
          delay_seconds: z.optional(z.number().check(z.int(), z.minimum(0), z.maximum(MAX_DELAY_SECONDS))),
        }),
      )
      .check(z.maxLength(MAX_BATCH_MESSAGES)),
  ),
});

/**
 * The calls that an answer stands for: `{retries: [{id, delay_seconds?}]}`. One that is empty or no JSON asks for nothing;
 * JSON of another shape throws, since it may have meant something.
 */
export function callsOf(text: string, messages: readonly StoredMessage[]): Call[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  const { retries = [] } = parseOr(answer, value, (problem) => new Error(`the consumer's answer is none: ${problem}`));
  const places = new Map(messages.map(({ id }, index) => [id, index]));
  return retries.map(({ id, delay_seconds }, index) => {
    const message = places.get(id);
    if (message !== undefined) return { kind: "retry", message, delaySeconds: delay_seconds ?? null };
    throw new Error(`the consumer's answer is none: retries[${index}].id is of no message in this batch`);
  });
}
