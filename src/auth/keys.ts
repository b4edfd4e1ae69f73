import { WaggleError } from "../contract/errors.ts";

/** The keys that tokens are signed with, by `kid`, in the order in which they are written. The first one signs. */
export type Keys = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** HS256 is as strong as its key, up to the length of its hash. */
const MIN_KEY_BYTES = 32;

/** Begins with a letter: `JSON.parse` moves keys that look like numbers to the front, and the first one signs. */
const KID = /^[A-Za-z][\w.-]{0,63}$/;
const BASE64URL = /^[\w-]+={0,2}$/;

/**
 * Reads the secret `WAGGLE_KEYS`, a JSON object of `kid` to base64url key. Throws `bad_configuration`, in words that name
 * the secret and give nothing of it away.
 */
export function parseKeys(text: string): Keys {
  const keys = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [kid, key] of Object.entries(objectOf(text))) {
    if (!KID.test(kid)) {
      throw bad("each kid must be a letter followed by up to 63 letters, digits, dots, hyphens and underscores");
    }
    if (typeof key !== "string" || !BASE64URL.test(key)) throw bad(`the key ${JSON.stringify(kid)} is not base64url`);
    const bytes = bytesOf(key, kid);
    if (bytes.byteLength < MIN_KEY_BYTES) {
      throw bad(`the key ${JSON.stringify(kid)} is of ${bytes.byteLength} bytes; at least ${MIN_KEY_BYTES} are needed`);
    }
    keys.set(kid, bytes);
  }
  if (keys.size === 0) throw bad("it holds no key");
  return keys;
}

function objectOf(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own text would quote the secret.
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw bad('it must be a JSON object of kid to base64url key, like {"k1":"…"}');
}

function bytesOf(base64url: string, kid: string): Uint8Array<ArrayBuffer> {
  try {
    const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(text, (character) => character.charCodeAt(0));
  } catch {
    throw bad(`the key ${JSON.stringify(kid)} is not base64url`);
  }
}

function bad(problem: string): WaggleError {
  return new WaggleError("bad_configuration", `the secret WAGGLE_KEYS cannot be used: ${problem}`);
}
