import { lacking } from "../auth/judge.ts";
import { Unauthorized } from "../auth/unauthorized.ts";
import { Verifier, type Bearer } from "../auth/verifier.ts";
import type { Config } from "../config.ts";
import { WaggleError } from "../contract/errors.ts";
import { queryOf } from "./query.ts";
import type { Call } from "./routes.ts";
import { open, type Rule } from "./rules.ts";
import { redeem } from "./tickets.ts";

/** Who calls while nobody is asked. */
const EVERYBODY: Bearer = { claims: { admin: true }, expiresAt: null };

const BEARER = /^bearer +([^ ]+) *$/i;

const verifiers = new WeakMap<Config, Verifier>();

/** Lets a call pass that may do what it asks for, and throws otherwise. Touches no object, but to redeem a ticket. */
export async function admit(call: Call, rule: Rule): Promise<void> {
  if (rule === open) return;
  const { claims } = await claimsOf(call, rule);
  if (claims.admin === true) return;
  const problem = lacking(claims, await rule(call));
  if (problem !== null) throw new WaggleError("forbidden", problem);
}

/**
 * What a call's token lets it do, and when that ends. Throws 401 without a good one. While `AUTH` is off everybody may
 * do everything.
 *
 * For a route whose calls go on doing things, like a subscription: put `orTicket(…)` around its rule, and
 *
 * ```ts
 * const { claims, expiresAt } = await claimsOf(call, { mayTicket: true });
 * ```
 *
 * in its handler. The gate has read the token or redeemed the ticket by then, and the same answer comes again: a ticket
 * is not redeemed twice. Judge later messages with `lacking(claims, pushNeed(…))`, and stop at `expiresAt` (in ms, clock
 * skew included; null = never), which of a ticket is that of the token it was bought with. Both are plain data, fit
 * for a socket's attachment and for an RPC.
 */
export function claimsOf(call: Call, { mayTicket = false }: { mayTicket?: boolean } = {}): Promise<Bearer> {
  return (call.bearer ??= bearerOf(call, mayTicket));
}

/** How long a call may wait of the time that it asks for: no longer than its token is good. */
export async function waitOf(call: Call, wantedMs: number): Promise<number> {
  const { expiresAt } = await claimsOf(call);
  // In whole ms, as every wait is: a token may name a fraction of a second.
  return expiresAt === null ? wantedMs : Math.max(0, Math.min(wantedMs, Math.floor(expiresAt - Date.now())));
}

async function bearerOf(call: Call, mayTicket: boolean): Promise<Bearer> {
  const { config } = call.broker;
  if (config.auth === "off") return EVERYBODY;
  const verifier = verifierOf(config);
  const header = call.request.headers.get("authorization");
  if (header !== null) {
    const token = BEARER.exec(header)?.[1];
    if (token !== undefined) return verifier.token(token);
    throw new Unauthorized('the header Authorization must be "Bearer" and a token');
  }
  const ticket = mayTicket ? queryOf(call.request.url)["ticket"] : undefined;
  if (ticket !== undefined) return redeem(call, await verifier.ticket(ticket));
  const where = mayTicket
    ? "the header Authorization: Bearer, or a ticket as ?ticket="
    : "the header Authorization: Bearer";
  throw new Unauthorized(`this broker asks for a token, in ${where}`, true);
}

/** A broker that somebody deployed and nobody secured must not serve the world. */
function verifierOf(config: Config): Verifier {
  let verifier = verifiers.get(config);
  if (verifier !== undefined) return verifier;
  if (config.keys === null) throw notConfigured();
  verifier = new Verifier(config.keys);
  verifiers.set(config, verifier);
  return verifier;
}

function notConfigured(): WaggleError {
  return new WaggleError(
    "auth_not_configured",
    'this broker asks for authorisation and has no keys yet: set the secret WAGGLE_KEYS, or the var AUTH to "off" to let everybody in',
  );
}
