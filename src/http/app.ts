import { Router, type IRequest } from "itty-router";
import { Broker } from "../broker.ts";
import type { Env } from "../config.ts";
import { WaggleError } from "../contract/errors.ts";
import { failureOf } from "./answers.ts";
import { ephemeralRoutes } from "./ephemeral.ts";
import { decodeSegment } from "./query.ts";
import { queueRoutes } from "./queues/routes.ts";
import type { Call, Route, RouteTable } from "./routes.ts";
import { healthRoute, systemRoutes } from "./system.ts";

/** Stands in for an empty segment, which no route matches; no path holds it as it is. */
const EMPTY = "\u0000";

type Args = [env: Env, ctx: ExecutionContext];
type Answer = (call: Call) => Promise<Response> | Response;

/** The first whose prefix a path has speaks for it. */
const tables: RouteTable[] = [
  queueRoutes,
  { routes: [...ephemeralRoutes, ...systemRoutes], prefixes: [""], failure: failureOf },
];

/** Builds the routes of all tables, and answers which methods a path has. */
const router = Router<IRequest, Args, Response>({ catch: (error, { url }) => failureAt(pathOf(url), error) });
/**
 * Routes without a parameter, by method and path. The router takes a request's URL apart and tries its patterns one by
 * one, which is a tenth of the time that a push of one message takes; these are found before it.
 */
const fixed = new Map<string, Answer>();
add(healthRoute, (call) => healthRoute[2](call));
for (const route of tables.toReversed().flatMap(({ routes }) => routes)) {
  add(route, (call) => {
    authorise(call);
    return route[2](call);
  });
}
router.all("*", missing);

function add([method, path]: Route, answer: Answer): void {
  if (!path.includes(":")) fixed.set(`${method} ${path}`, answer);
  router[method.toLowerCase() as Lowercase<typeof method>](path, (request, env, ctx) =>
    answer({
      request: request as unknown as Request,
      params: decoded(request.params),
      broker: new Broker(env),
      env,
      ctx,
    }),
  );
}

function decoded(params: Record<string, string>): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, segment] of Object.entries(params)) plain[name] = decodeSegment(segment, name);
  return plain;
}

/** A broker that somebody deployed and nobody secured must not serve the world. */
function authorise({ broker }: Call): void {
  if (broker.config.auth === "off") return;
  throw new WaggleError(
    "auth_not_configured",
    'this broker asks for authorisation and has no keys yet; set the var AUTH to "off" to let everybody in',
  );
}

function failureAt(path: string, error: unknown, headers?: Record<string, string>): Response {
  const table = tables.find(({ prefixes }) => prefixes.some((prefix) => path.startsWith(prefix)));
  return (table?.failure ?? failureOf)(error, headers);
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
    const problem = `${fields.join(" and ")} must not be empty`;
    return failureAt(pathname, new WaggleError("ephemeral_bad_request", problem));
  }
  if (matching.length === 0) {
    return failureAt(pathname, new WaggleError("not_found", `there is no route ${request.method} ${pathname}`));
  }
  const allow = [...new Set(matching.map(([method]) => method))].join(", ");
  const problem = `${pathname} takes ${allow}, not ${request.method}`;
  return failureAt(pathname, new WaggleError("method_not_allowed", problem), { allow });
}

export async function handle(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  const path = pathOf(request.url);
  const answer = fixed.get(`${request.method} ${path}`);
  if (answer === undefined) return router.fetch(request as unknown as IRequest, env, ctx);
  try {
    return await answer({ request, params: {}, broker: new Broker(env), env, ctx });
  } catch (error) {
    return failureAt(path, error);
  }
}

/** The path of an absolute URL, as it stands in it. */
function pathOf(url: string): string {
  const from = url.indexOf("/", url.indexOf("://") + 3);
  const query = url.indexOf("?", from);
  return query < 0 ? url.slice(from) : url.slice(from, query);
}
