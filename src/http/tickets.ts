import { Unauthorized } from "../auth/unauthorized.ts";
import { TICKET_TYPE, type Bearer } from "../auth/verifier.ts";
import { signJwt } from "../auth/mint.ts";
import { unwrap } from "../contract/errors.ts";
import { TICKET_SECONDS } from "../contract/limits.ts";
import { remoteDeclarations } from "../objects/remote.ts";
import { json } from "./answers.ts";
import type { Call } from "./routes.ts";

/**
 * Exchanges a token for a ticket: what a browser's `EventSource` and `WebSocket`, which can send no header, put into the
 * URL. URLs end up in logs, hence good once and for 30 s. A ticket is signed, so that a made-up one costs no call
 * to an object; what it stands for stays with Declarations.
 */
export async function sellTicket(call: Call, { claims, expiresAt }: Bearer): Promise<Response> {
  const { keys } = call.broker.config;
  const id = crypto.randomUUID();
  let ticket = id;
  // While AUTH is off nobody looks at tickets; a client need not know that it is.
  if (call.broker.config.auth === "required" && keys !== null) {
    const bearer: Bearer = { claims, expiresAt };
    unwrap(await remoteDeclarations(call.env).issueTicket(id, JSON.stringify(bearer)));
    const exp = Math.ceil(Date.now() / 1000) + TICKET_SECONDS;
    ticket = await signJwt(keys, TICKET_TYPE, { jti: id, exp });
  }
  const answer = json({ ticket, expiresInSeconds: TICKET_SECONDS }, 201);
  answer.headers.set("cache-control", "no-store");
  return answer;
}

/** Uses a ticket up. Answers what the token that it was bought with stood for. */
export async function redeem(call: Call, id: string): Promise<Bearer> {
  const stored = await remoteDeclarations(call.env).redeemTicket(id);
  if (stored === null) throw new Unauthorized("the ticket was used before, or has expired");
  const bearer = JSON.parse(stored) as Bearer;
  if (bearer.expiresAt !== null && bearer.expiresAt <= Date.now()) {
    throw new Unauthorized("the token that the ticket was bought with has expired");
  }
  return bearer;
}
