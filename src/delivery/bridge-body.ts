import { QueueError } from "../contract/queue-errors.ts";
import type { Draft } from "../durable/content.ts";
import type { ContentType } from "../durable/message.ts";

/** A body from a Cloudflare Queue as a message of a durable queue: under the content type that keeps it as it is. */
export function draftOf(body: unknown): Draft & { contentType: ContentType } {
  return { body, contentType: contentTypeOf(body) };
}

/** A body as the payload of an ephemeral queue. Throws when JSON cannot hold it. */
export function payloadOf(body: unknown): string {
  if (isJson(body, new Set())) return JSON.stringify(body);
  throw new QueueError(10208, "an ephemeral queue holds values that JSON can hold, and the body is none");
}

/** What the original delivers for each of its own content types; how a message was sent cannot be seen. */
function contentTypeOf(body: unknown): ContentType {
  if (typeof body === "string") return "text";
  if (body instanceof ArrayBuffer || body instanceof Uint8Array) return "bytes";
  return isJson(body, new Set()) ? "json" : "v8";
}

/** Whether JSON brings a value back as it was. An object that occurs twice would come back as two. */
function isJson(value: unknown, seen: Set<object>): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || seen.has(value)) return false;
  seen.add(value);
  // `every` would pass over the holes of an array.
  if (Array.isArray(value)) return Array.from(value).every((element) => isJson(element, seen));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((element) => isJson(element, seen));
}
