import { jwtVerify, type JWTHeaderParameters, type JWTPayload } from "jose";
import { tokenPayload } from "../contract/claims.ts";
import type { Claims } from "../contract/rights.ts";
import { parseOr } from "../contract/parse.ts";
import type { Keys } from "./keys.ts";
import { Unauthorized } from "./unauthorized.ts";

/** What a request may do, and for how long. */
export interface Bearer {
  claims: Claims;
  /** When the token that it came with is honoured no longer, in ms, clock skew included; null = never. */
  expiresAt: number | null;
}

/** How far the clock of whoever mints may be off, in seconds. */
export const CLOCK_SKEW_SECONDS = 30;
/** The `typ` of tickets: neither is a token a ticket, nor a ticket a token. */
export const TICKET_TYPE = "ticket+jwt";

/** A header of this length is refused by many proxies; the cache holds tokens as they are. */
const MAX_TOKEN_CHARS = 8192;
const MAX_CACHED = 500;
const CACHE_MS = 60_000;

/** Checks tokens and tickets against the keys of one configuration. Remembers what it has found good for a minute. */
export class Verifier {
  readonly #keys: Keys;
  /** Imported once each. Values and no promises: a promise belongs to the request that made it. */
  readonly #imported = new Map<string, CryptoKey>();
  readonly #good = new Map<string, { bearer: Bearer; until: number }>();

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  /** What a token says. Throws {@link Unauthorized}. */
  async token(token: string): Promise<Bearer> {
    const now = Date.now();
    const known = this.#good.get(token);
    if (known !== undefined && now < known.until) return known.bearer;
    if (token.length > MAX_TOKEN_CHARS)
      throw new Unauthorized(`the token is longer than ${MAX_TOKEN_CHARS} characters`);
    const payload = await this.#verified(token, "JWT", CLOCK_SKEW_SECONDS);
    const { exp, ephemeral, queues, admin } = parseOr(tokenPayload, payload, (problem) => {
      return new Unauthorized(`the token is not one of Waggle's: ${problem}`);
    });
    const expiresAt = (exp + CLOCK_SKEW_SECONDS) * 1000;
    const bearer: Bearer = {
      claims: { ...(ephemeral && { ephemeral }), ...(queues && { queues }), ...(admin && { admin }) },
      expiresAt,
    };
    this.#remember(token, bearer, Math.min(expiresAt, now + CACHE_MS));
    return bearer;
  }

  /** The id of a ticket that was issued here and has not expired. Whether it was used, its issuer knows. */
  async ticket(ticket: string): Promise<string> {
    if (ticket.length > MAX_TOKEN_CHARS) throw new Unauthorized("this is no ticket");
    const { jti } = await this.#verified(ticket, TICKET_TYPE, 0);
    if (jti === undefined) throw new Unauthorized("this is no ticket");
    return jti;
  }

  async #verified(jwt: string, typ: string, clockTolerance: number): Promise<JWTPayload> {
    const what = typ === TICKET_TYPE ? "ticket" : "token";
    try {
      const options = { algorithms: ["HS256"], requiredClaims: ["exp"], clockTolerance };
      const key = (header: JWTHeaderParameters) => this.#key(header, what);
      const { payload, protectedHeader } = await jwtVerify(jwt, key, options);
      // Tokens of other libraries need not say what they are; tickets always do.
      const { typ: said = "JWT" } = protectedHeader;
      if (said.toLowerCase() !== typ.toLowerCase()) throw new Unauthorized(`this is no ${what}`);
      return payload;
    } catch (error) {
      if (error instanceof Unauthorized) throw error;
      throw new Unauthorized(problemOf(error, what));
    }
  }

  async #key({ kid = "", alg }: JWTHeaderParameters, what: string): Promise<CryptoKey> {
    // Before a key is looked at, although jose pins it as well.
    if (alg !== "HS256") throw new Unauthorized(`the ${what} is not signed with HS256`);
    const imported = this.#imported.get(kid);
    if (imported !== undefined) return imported;
    const bytes = this.#keys.get(kid);
    if (bytes === undefined) throw new Unauthorized(`the ${what} is signed with a key that this broker does not have`);
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    this.#imported.set(kid, key);
    return key;
  }

  #remember(token: string, bearer: Bearer, until: number): void {
    this.#good.delete(token);
    const [oldest] = this.#good.keys();
    if (this.#good.size >= MAX_CACHED && oldest !== undefined) this.#good.delete(oldest);
    this.#good.set(token, { bearer, until });
  }
}

/** In words of our own: those of a library may change, and quote what was sent. */
function problemOf(error: unknown, what: string): string {
  const { code, claim } = error as { code?: string; claim?: string };
  switch (code) {
    case "ERR_JWT_EXPIRED":
      return `the ${what} has expired`;
    case "ERR_JWS_SIGNATURE_VERIFICATION_FAILED":
      return `the ${what} is signed with another key than it names`;
    case "ERR_JOSE_ALG_NOT_ALLOWED":
      return `the ${what} is not signed with HS256`;
    case "ERR_JWT_CLAIM_VALIDATION_FAILED":
      return claim === "nbf" ? `the ${what} is not valid yet` : `the ${what} lacks a usable ${claim ?? "claim"}`;
    default:
      return `the ${what} cannot be read`;
  }
}
