import type { Claims } from "../contract/rights.ts";
import type { Keys } from "./keys.ts";

/**
 * Signs tokens. One HMAC over two pieces of JSON needs no library, which whoever mints offline would have to bring along;
 * verifying, where the pitfalls are, is `jose`'s.
 */

const HMAC = { name: "HMAC", hash: "SHA-256" };

/**
 * Mints a token that lets its holder do what `claims` say, for so many seconds. Needs nothing but WebCrypto: runs in
 * Node, browsers and Workers, with no broker at hand. The first of the keys signs.
 *
 * ```ts
 * const keys = parseKeys(process.env.WAGGLE_KEYS);
 * const token = await mintToken(keys, { ephemeral: [{ queue: "presence", verbs: ["pop"] }] }, 3600);
 * ```
 */
export async function mintToken(keys: Keys, claims: Claims, expiresInSeconds: number): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return signJwt(keys, "JWT", { ...claims, iat: now, exp: now + expiresInSeconds });
}

/** A signed JWT of any payload. `typ` keeps what is meant for one purpose from being taken for another. */
export async function signJwt(keys: Keys, typ: string, payload: object): Promise<string> {
  const [first] = keys;
  if (first === undefined) throw new TypeError("there is no key to sign with");
  const [kid, bytes] = first;
  const head = encode(JSON.stringify({ alg: "HS256", typ, kid }));
  const signed = `${head}.${encode(JSON.stringify(payload))}`;
  const key = await crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, utf8.encode(signed));
  return `${signed}.${base64url(new Uint8Array(signature))}`;
}

const utf8 = new TextEncoder();

function encode(text: string): string {
  return base64url(utf8.encode(text));
}

function base64url(bytes: Uint8Array): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
