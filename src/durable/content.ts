import { Packr } from "msgpackr/index-no-eval";
import { QueueError, type QueueErrorCode } from "../contract/queue-errors.ts";
import { MAX_BATCH_BYTES, MAX_BATCH_MESSAGES, MAX_DELAY_SECONDS, MAX_MESSAGE_BYTES } from "../contract/queue-limits.ts";
import type { ContentType, PackedMessages } from "./message.ts";

/** A message as a producer gives it, not checked yet. */
export interface Draft {
  body: unknown;
  contentType?: unknown;
  delaySeconds?: unknown;
}

/** What structured clone keeps and JSON loses. Each body is whole in itself: nothing is shared between two of them. */
const v8 = new Packr({ structuredClone: true, moreTypes: true });
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Checks messages and stores their bodies one after another. Throws a {@link QueueError}, and then nothing is kept. */
export function packMessages(drafts: readonly Draft[], batchDelay?: unknown): PackedMessages {
  checkCount(drafts.length);
  const delay = delayOf(batchDelay, 10202);
  const types = drafts.map(({ contentType }) => contentTypeOf(contentType));
  const delaySeconds = drafts.map((draft) => delayOf(draft.delaySeconds, 10203) ?? delay);
  const bodies = drafts.map(({ body }, index) => encodeBody(types[index] ?? "json", body));
  const lengths = bodies.map(({ byteLength }) => byteLength);
  const total = checkSizes(lengths, MAX_BATCH_BYTES);
  return { types, lengths, delaySeconds, bodies: joined(bodies, total) };
}

function checkCount(count: number): void {
  if (count === 0) throw new QueueError(10206, "the batch is empty; a batch holds at least one message");
  if (count <= MAX_BATCH_MESSAGES) return;
  throw new QueueError(10206, `the batch holds ${count} messages; at most ${MAX_BATCH_MESSAGES} messages are allowed`);
}

/** Holds the bytes of a batch's bodies against the limits. Answers their sum. */
export function checkSizes(lengths: readonly number[], maxBytes: number): number {
  checkCount(lengths.length);
  for (const length of lengths) {
    if (length <= MAX_MESSAGE_BYTES) continue;
    throw new QueueError(
      10204,
      `the message has ${length} bytes; at most ${MAX_MESSAGE_BYTES} bytes are allowed in one message`,
    );
  }
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (total <= maxBytes) return total;
  throw new QueueError(10205, `the batch has ${total} bytes; at most ${maxBytes} bytes are allowed in one batch`);
}

function joined(bodies: readonly Uint8Array[], total: number): Uint8Array {
  const all = new Uint8Array(total);
  let at = 0;
  for (const body of bodies) {
    all.set(body, at);
    at += body.byteLength;
  }
  return all;
}

function contentTypeOf(given: unknown): ContentType {
  if (given === undefined || given === null) return "json";
  const type = typeof given === "string" ? given.toLowerCase() : "";
  if (type === "json" || type === "text" || type === "bytes" || type === "v8") return type;
  throw new QueueError(10203, `the content type is ${shown(given)}; it must be json, text, bytes or v8`);
}

/** A delay in seconds; null = none was given. */
export function delayOf(given: unknown, code: QueueErrorCode): number | null {
  if (given === undefined || given === null) return null;
  if (Number.isInteger(given) && (given as number) >= 0 && (given as number) <= MAX_DELAY_SECONDS)
    return given as number;
  throw new QueueError(
    code,
    `delaySeconds is ${shown(given)}; it must be a whole number of seconds from 0 to ${MAX_DELAY_SECONDS}`,
  );
}

/** The bytes that a body is stored as. */
function encodeBody(type: ContentType, body: unknown): Uint8Array {
  if (body === undefined) throw new QueueError(10208, "the message has no body; undefined cannot be sent");
  switch (type) {
    case "json":
      return encoder.encode(jsonText(body));
    case "text":
      if (typeof body === "string") return encoder.encode(body);
      throw new QueueError(10208, `a body of content type text must be a string, not ${kindOf(body)}`);
    case "bytes":
      if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
      if (body instanceof ArrayBuffer) return new Uint8Array(body);
      throw new QueueError(
        10208,
        `a body of content type bytes must be an ArrayBuffer or a view of one, not ${kindOf(body)}`,
      );
    case "v8":
      return attempt(() => v8.pack(body), "a body of content type v8 must be structured-cloneable");
  }
}

function jsonText(body: unknown): string {
  const text = attempt(() => JSON.stringify(body) as string | undefined, "the body cannot be written as JSON");
  if (text !== undefined) return text;
  throw new QueueError(10208, `the body cannot be written as JSON: it is ${kindOf(body)}`);
}

function attempt<T>(encode: () => T, problem: string): T {
  try {
    return encode();
  } catch (error) {
    throw new QueueError(10208, `${problem}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The value that a consumer Worker is given. A body of bytes is a copy of its own, which the receiver may keep. */
export function decodeBody(type: ContentType, body: Uint8Array): unknown {
  switch (type) {
    case "json":
      return JSON.parse(decoder.decode(body));
    case "text":
      return decoder.decode(body);
    case "bytes":
      return body.slice();
    case "v8":
      return v8.unpack(body);
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return `a ${typeof value}`;
  return value.constructor?.name ?? "an object";
}

function shown(value: unknown): string {
  if (typeof value === "string" || typeof value === "number") return JSON.stringify(value) ?? String(value);
  return kindOf(value);
}
