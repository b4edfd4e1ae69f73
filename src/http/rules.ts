import type { DurableVerb } from "../contract/rights.ts";
import type { Need } from "../auth/need.ts";
import type { Call } from "./routes.ts";

/**
 * The right that a call of a route needs. Judged after the token was found good, and before the route does anything: it
 * reads what the call names, and asks no object.
 */
export interface Rule {
  (call: Call): Need | Promise<Need>;
  /** Whether a one-time ticket may stand in for the token, for callers that cannot send a header. */
  mayTicket?: true;
}

/** Everybody may, without a token. */
export const open: Rule = () => ({ of: "token" });

/** Whoever has a token may, whatever it is good for. */
export const anyToken: Rule = () => ({ of: "token" });

/** Only `admin` may. `queueOf` finds the queue that a refusal names where the path does not name it. */
export function admin(verb: string, queueOf?: (call: Call) => Promise<{ queue: string }>): Rule {
  return async (call) => {
    const { queue = null } = queueOf === undefined ? call.params : await queueOf(call);
    return { of: "admin", verb, queue };
  };
}

/** A verb on the durable queue that the path names. */
export function durable(verb: DurableVerb): Rule {
  return ({ params }) => ({ of: "durable", verb, queue: params["queue"] ?? "" });
}

/** The same rule on a route that takes tickets, too. */
export function orTicket(rule: Rule): Rule {
  return Object.assign((call: Call) => rule(call), { mayTicket: true as const });
}
