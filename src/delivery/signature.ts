import { hexOf } from "../contract/hex.ts";

const encoder = new TextEncoder();

/**
 * The value of `Waggle-Signature` for a body: `t=<unix seconds>,v1=<hex HMAC-SHA256(secret, t + "." + body)>`. A receiver
 * computes the same and refuses old times, so that what was overheard cannot be sent again.
 */
export async function signature(secret: string, body: string, now: number): Promise<string> {
  const time = Math.floor(now / 1000);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const digest = await crypto.subtle.sign(algorithm, key, encoder.encode(`${time}.${body}`));
  return `t=${time},v1=${hexOf(digest)}`;
}
