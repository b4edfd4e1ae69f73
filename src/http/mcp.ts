import { WaggleError } from "../contract/errors.ts";
import { answerRpc } from "../mcp/server.ts";
import { RPC, rpcFailure } from "../mcp/protocol.ts";
import { Api } from "../operations/api.ts";
import { json } from "./answers.ts";
import { readValue } from "./body.ts";
import type { Call } from "./routes.ts";

/**
 * The Model Context Protocol over streamable HTTP: each message is a request, and each answer is whole. There is no session
 * and no stream to listen to, since the broker has nothing to say by itself.
 */
export async function serveMcp(call: Call): Promise<Response> {
  refuseForeignPage(call);
  let message: unknown;
  try {
    message = await readValue(call.request);
  } catch (error) {
    if (error instanceof WaggleError && error.code === "payload_too_large") throw error;
    return json(rpcFailure(null, RPC.parseError, "the body is not JSON"), 400);
  }
  const answer = await answerRpc(message, apiOf(call));
  return answer === null ? new Response(null, { status: 202 }) : json(answer);
}

/**
 * A page that the user happens to look at can reach a broker on the user's own machine, which asks for no token: the
 * protocol demands that origins are checked. Programs send none.
 */
function refuseForeignPage({ request, broker }: Call): void {
  const origin = request.headers.get("origin");
  const { corsOrigins } = broker.config;
  if (origin === null || origin === new URL(request.url).origin) return;
  if (corsOrigins !== "*" && corsOrigins.has(origin)) return;
  throw new WaggleError("forbidden", `pages of ${origin} may not use this; name it in the var CORS_ORIGINS`);
}

/** The API as whoever calls may use it: every tool is judged by the routes that it uses. */
function apiOf({ request, self }: Call): Api {
  const authorization = request.headers.get("authorization");
  const fetcher: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    if (authorization !== null) headers.set("authorization", authorization);
    return self(new Request(input, { ...init, headers }));
  };
  return new Api(new URL(request.url).origin, undefined, fetcher);
}
