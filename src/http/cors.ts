import { readConfig, type Env } from "../config.ts";
import type { CorsOrigins } from "../contract/origins.ts";

/** Browsers keep a preflight's answer for two hours at the most, or for a day. */
const MAX_AGE_SECONDS = 86_400;

/** A browser asks before it sends what a page could not send without CORS. It sends no token with that. */
export function isPreflight({ method, headers }: Request): boolean {
  return method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method");
}

/** Always 204: the browser of a foreign page finds no allow headers in it, and refuses by itself. */
export function preflight(request: Request, env: Env, methods: readonly string[]): Response {
  const response = allowed(request, new Response(null, { status: 204 }), readConfig(env).corsOrigins);
  if (!response.headers.has("access-control-allow-origin")) return response;
  if (methods.length > 0) response.headers.set("access-control-allow-methods", methods.join(", "));
  response.headers.set("access-control-allow-headers", "authorization, content-type, mcp-protocol-version");
  response.headers.set("access-control-max-age", String(MAX_AGE_SECONDS));
  return response;
}

/** Lets the page of an allowed origin read an answer, whatever the answer is. */
export function withCors(request: Request, response: Response, env: Env): Response {
  const origins = originsOf(env);
  if (origins === null) return response;
  const answer = allowed(request, response, origins);
  if (answer.headers.has("access-control-allow-origin")) {
    answer.headers.set("access-control-expose-headers", "retry-after");
  }
  return answer;
}

/** null = no page may, or the vars cannot be read, which the answer says. */
function originsOf(env: Env): CorsOrigins | null {
  try {
    const { corsOrigins } = readConfig(env);
    return corsOrigins === "*" || corsOrigins.size > 0 ? corsOrigins : null;
  } catch {
    return null;
  }
}

/** With a list the answer depends on who asks, and a cache must know that even of an answer to nobody in particular. */
function allowed(request: Request, response: Response, origins: CorsOrigins): Response {
  // No page reads the answer to an upgrade, and its headers are its socket's.
  if (response.webSocket) return response;
  const origin = request.headers.get("origin");
  if (origins === "*") return withHeaders(response, { "access-control-allow-origin": "*" });
  if (origins.size === 0) return response;
  const isAllowed = origin !== null && origins.has(origin);
  return withHeaders(
    response,
    isAllowed ? { "access-control-allow-origin": origin, vary: "Origin" } : { vary: "Origin" },
  );
}

function withHeaders(response: Response, added: Record<string, string>): Response {
  try {
    for (const [name, value] of Object.entries(added)) response.headers.append(name, value);
    return response;
  } catch {
    // What an object has answered can be handed on and not changed.
    return withHeaders(new Response(response.body, response), added);
  }
}
