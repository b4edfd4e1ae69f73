import { QueueError } from "../../contract/queue-errors.ts";
import { decodeBase64, encodeBase64 } from "../../durable/base64.ts";
import { decodeBody, type Draft } from "../../durable/content.ts";
import type { ContentType, Origin, StoredMessage } from "../../durable/message.ts";

/** How messages travel in JSON. */

interface PushedMessage {
  body?: unknown;
  content_type?: unknown;
  delay_seconds?: unknown;
}

/** A message as a client sends it: `bytes` in base64, `v8` as base64 of its stored form. */
export function draftOf({ body, content_type, delay_seconds }: PushedMessage): Draft {
  const type = typeof content_type === "string" ? content_type.toLowerCase() : content_type;
  const isBinary = type === "bytes" || type === "v8";
  return { body: isBinary ? binary(type, body) : body, contentType: content_type, delaySeconds: delay_seconds };
}

function binary(type: "bytes" | "v8", body: unknown): unknown {
  const bytes = typeof body === "string" ? decodeBase64(body) : null;
  if (bytes === null) throw new QueueError(10208, `a body of content type ${type} must be a text in base64`);
  if (type === "bytes") return bytes;
  try {
    return decodeBody("v8", bytes);
  } catch {
    throw new QueueError(10208, "a body of content type v8 must be base64 of the form in which a pull answers it");
  }
}

const decoder = new TextDecoder();

/** A body as a client gets it: `text` as it is, everything else in base64. */
export function wireBody(type: ContentType, body: Uint8Array): string {
  return type === "text" ? decoder.decode(body) : encodeBase64(body);
}

export function originShape({ queue, attempts, error }: Origin) {
  return { source_queue: queue, attempts, last_error: error };
}

/** A message as a client gets it. */
export function messageShape({ id, sentAt, attempts, type, body, origin }: StoredMessage) {
  return {
    id,
    timestamp_ms: sentAt,
    attempts,
    body: wireBody(type, body),
    metadata: {
      "CF-Content-Type": type,
      "CF-sourceMessageSource": origin === null ? "waggle" : "dead-letter",
      ...(origin === null ? {} : { origin: originShape(origin) }),
    },
  };
}
