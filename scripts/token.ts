import { parseKeys } from "../src/auth/keys.ts";
import { mintToken } from "../src/auth/mint.ts";
import { mintBody } from "../src/contract/claims.ts";
import { parse } from "../src/contract/parse.ts";

/**
 * Mints a token with no broker at hand, above all the first one:
 * `WAGGLE_KEYS=… npm run -s token -- '{"admin":true}' 3600`
 */
const USAGE = `usage: WAGGLE_KEYS='{"k1":"…"}' npm run -s token -- '<claims as JSON>' <seconds>`;

async function main([claims, seconds]: string[]): Promise<string> {
  const { WAGGLE_KEYS } = process.env;
  if (WAGGLE_KEYS === undefined || claims === undefined || seconds === undefined) throw new Error(USAGE);
  const keys = parseKeys(WAGGLE_KEYS);
  const wanted = parse(mintBody, { claims: jsonOf(claims), expiresInSeconds: Number(seconds) });
  return mintToken(keys, wanted.claims, wanted.expiresInSeconds);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`the claims are not JSON\n${USAGE}`);
  }
}

try {
  console.log(await main(process.argv.slice(2)));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
