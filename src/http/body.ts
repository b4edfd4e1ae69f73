import { WaggleError } from "../contract/errors.ts";
import { parseText, type BodyText } from "../contract/json-text.ts";
import { MAX_BODY_BYTES } from "../contract/limits.ts";
import { parse } from "../contract/parse.ts";
import type * as z from "zod/mini";

/** Nesting of a body outside a payload: nothing legal goes nearly as deep. */
const MAX_DEPTH = 64;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** Reads a body, whatever its `content-type` says. Strict: bytes that are not UTF-8 are refused and never replaced. Throws 413 past the limit, declared or counted, and 400 for bad UTF-8. */
export async function readBody(request: Request): Promise<BodyText> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > MAX_BODY_BYTES) throw tooLarge();
  const bytes = declared === null ? await readCounted(request) : await request.arrayBuffer();
  if (bytes.byteLength > MAX_BODY_BYTES) throw tooLarge();
  try {
    const text = utf8.decode(bytes);
    return { text, isAscii: text.length === bytes.byteLength };
  } catch (cause) {
    throw new WaggleError("ephemeral_bad_request", "the body is not UTF-8", { cause });
  }
}

async function readCounted(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    if (length > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

function tooLarge(): WaggleError {
  return new WaggleError("payload_too_large", `the body is larger than ${MAX_BODY_BYTES} bytes`);
}

/** Reads a body without payloads and checks it. */
export async function readJson<T>(request: Request, schema: z.core.$ZodType<T>): Promise<T> {
  return parse(schema, await readValue(request));
}

/** Reads a body without payloads, as it was sent. */
export async function readValue(request: Request): Promise<unknown> {
  const { text } = await readBody(request);
  return parseText(text, MAX_DEPTH);
}
