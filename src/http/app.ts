import { Router, type IRequest } from "itty-router";
import { Broker } from "../broker.ts";
import type { Env } from "../config.ts";
import { failure, failureOf } from "./answers.ts";
import { ephemeralRoutes } from "./ephemeral.ts";
import { decodeSegment } from "./query.ts";
import type { Call, Route } from "./routes.ts";
import { healthRoute, systemRoutes } from "./system.ts";

/** Stands in for an empty segment, which no route matches; no path holds it as it is. */
const EMPTY = "\u0000";

type Args = [env: Env, ctx: ExecutionContext];
type Answer = (call: Call) => Promise<Response> | Response;

/** Every route, in one table: it builds the router and answers which methods a path has. */
const guarded: Route[] = [...ephemeralRoutes, ...systemRoutes];

const router = Router<IRequest, Args, Response>({ catch: failureOf });
/**
 * Routes without a parameter, by method and path. The router takes a request's URL apart and tries its patterns one by
 * one, which is a tenth of the time that a push of one message takes; these are found before it.
 */
const fixed = new Map<string, Answer>();
add(healthRoute, (call) => healthRoute[2](call));
for (const route of guarded) add(route, (call) => authorised(call) ?? route[2](call));
router.all("*", missing);

function add([method, path]: Route, answer: Answer): void {
  if (!path.includes(":")) fixed.set(`${method} ${path}`, answer);
  router[method.toLowerCase() as Lowercase<typeof method>](path, (request, env, ctx) =>
    answer({ request: request as unknown as Request, params: decoded(request.params), broker: new Broker(env), ctx }),
  );
}

function decoded(params: Record<string, string>): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, segment] of Object.entries(params)) plain[name] = decodeSegment(segment, name);
  return plain;
}

/** A broker that somebody deployed and nobody secured must not serve the world. */
function authorised({ broker }: Call): Response | null {
  if (broker.config.auth === "off") return null;
  return failure(
    "auth_not_configured",
    'this broker asks for authorisation and has no keys yet; set the var AUTH to "off" to let everybody in',
  );
}

/** Nothing matched: the path is unknown, or its method is, or a name in it is empty. */
function missing(request: IRequest): Response {
  const { pathname } = new URL(request.url);
  const named = pathname.replaceAll(/\/(?=\/|$)/g, `/${EMPTY}`);
  const routes = router.routes.filter(([method]) => method !== "ALL");
  const matching = routes.filter(([, pattern]) => pattern.test(pathname));
  const [nameless] = routes.filter(([method, pattern]) => method === request.method && pattern.test(named));
  if (matching.length === 0 && nameless !== undefined) {
    const params = Object.entries(nameless[1].exec(named)?.groups ?? {});
    const fields = params.filter(([, segment]) => segment === EMPTY).map(([field]) => field);
    return failure("ephemeral_bad_request", `${fields.join(" and ")} must not be empty`);
  }
  if (matching.length === 0) return failure("not_found", `there is no route ${request.method} ${pathname}`);
  const allow = [...new Set(matching.map(([method]) => method))].join(", ");
  return failure("method_not_allowed", `${pathname} takes ${allow}, not ${request.method}`, { allow });
}

export async function handle(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  const answer = fixed.get(`${request.method} ${pathOf(request.url)}`);
  if (answer === undefined) return router.fetch(request as unknown as IRequest, env, ctx);
  try {
    return await answer({ request, params: {}, broker: new Broker(env), ctx });
  } catch (error) {
    return failureOf(error);
  }
}

/** The path of an absolute URL, as it stands in it. */
function pathOf(url: string): string {
  const from = url.indexOf("/", url.indexOf("://") + 3);
  const query = url.indexOf("?", from);
  return query < 0 ? url.slice(from) : url.slice(from, query);
}
