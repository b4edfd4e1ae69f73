import { WaggleError } from "../contract/errors.ts";
import { parse } from "../contract/parse.ts";
import { groupOf, subscribeQuery } from "../contract/requests.ts";
import { answerEvents } from "./events.ts";
import { claimsOf } from "./gate.ts";
import { queryOf } from "./query.ts";
import { once, type Call } from "./routes.ts";

/** What a consumer that stays asks for. */
export const subscribeOf = once(async ({ request }) => {
  const { queue, partition, group, prefetch } = parse(subscribeQuery, queryOf(request.url));
  return { queue, partition: partition ?? null, group: groupOf(group), prefetch };
});

/** A consumer that stays: over a WebSocket, whose frames `contract/socket.ts` describes, or as server-sent events. */
export async function subscribe(call: Call): Promise<Response> {
  const asked = await subscribeOf(call);
  const { broker, request, ctx } = call;
  const bearer = await claimsOf(call, { mayTicket: true });
  if (request.headers.get("upgrade")?.toLowerCase() === "websocket") return broker.subscribe({ ...asked, bearer });
  if (request.headers.get("accept")?.toLowerCase().includes("text/event-stream")) {
    return answerEvents(broker, asked, bearer, request.signal, ctx);
  }
  throw new WaggleError(
    "upgrade_required",
    "this route takes a WebSocket (Upgrade: websocket) or an EventSource (Accept: text/event-stream)",
  );
}
