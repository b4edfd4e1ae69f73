import { Router, type IRequest } from "itty-router";
import { Unauthorized } from "../auth/unauthorized.ts";
import { Broker } from "../broker.ts";
import type { Env } from "../config.ts";
import { WaggleError } from "../contract/errors.ts";
import { failureOf } from "./answers.ts";
import { isPreflight, preflight, withCors } from "./cors.ts";
import { admit } from "./gate.ts";
import { decodeSegment } from "./query.ts";
import type { Call, Route } from "./routes.ts";
import { tables } from "./tables.ts";

/** Stands in for an empty segment, which no route matches; no path holds it as it is. */
const EMPTY = "\u0000";

type Args = [env: Env, ctx: ExecutionContext];
type Answer = (call: Call) => Promise<Response> | Response;

/** Builds the routes of all tables, and answers which methods a path has. */
const router = Router<IRequest, Args, Response>({ catch: (error, { url }) => failureAt(pathOf(url), error) });
/**
 * Routes without a parameter, by method and path. The router takes a request's URL apart and tries its patterns one by
 * one, which is a tenth of the time that a push of one message takes; these are found before it.
 */
const fixed = new Map<string, Answer>();
for (const route of tables.toReversed().flatMap(({ routes }) => routes)) add(route);
router.all("*", missing);

function add([method, path, rule, handler]: Route): void {
  const answer: Answer = async (call) => {
    if (call.broker.config.auth !== "off") await admit(call, rule);
    return handler(call);
  };
  if (!path.includes(":")) fixed.set(`${method} ${path}`, answer);
  router[method.toLowerCase() as Lowercase<typeof method>](path, (request, env, ctx) =>
    answer(callOf(request as unknown as Request, decoded(request.params), env, ctx)),
  );
}

/** What a route is called with. */
export function callOf(request: Request, params: Record<string, string>, ...[env, ctx]: Args): Call {
  return { request, params, broker: new Broker(env), env, ctx, self: (other) => handle(other, env, ctx) };
}

function decoded(params: Record<string, string>): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, segment] of Object.entries(params)) plain[name] = decodeSegment(segment, name);
  return plain;
}

function failureAt(path: string, error: unknown, headers: Record<string, string> = {}): Response {
  const table = tables.find(({ prefixes }) => prefixes.some((prefix) => path.startsWith(prefix)));
  const challenge = error instanceof Unauthorized ? { "www-authenticate": error.challenge } : {};
  return (table?.failure ?? failureOf)(error, { ...headers, ...challenge });
}

/** Nothing matched: the path is unknown, or its method is, or a name in it is empty. */
function missing(request: IRequest): Response {
  const { pathname } = new URL(request.url);
  const named = pathname.replaceAll(/\/(?=\/|$)/g, `/${EMPTY}`);
  const methods = methodsAt(pathname);
  const nameless = router.routes.find(([method, pattern]) => method === request.method && pattern.test(named));
  if (methods.length === 0 && nameless !== undefined) {
    const params = Object.entries(nameless[1].exec(named)?.groups ?? {});
    const fields = params.filter(([, segment]) => segment === EMPTY).map(([field]) => field);
    const problem = `${fields.join(" and ")} must not be empty`;
    return failureAt(pathname, new WaggleError("ephemeral_bad_request", problem));
  }
  if (methods.length === 0) {
    return failureAt(pathname, new WaggleError("not_found", `there is no route ${request.method} ${pathname}`));
  }
  const allow = methods.join(", ");
  const problem = `${pathname} takes ${allow}, not ${request.method}`;
  return failureAt(pathname, new WaggleError("method_not_allowed", problem), { allow });
}

/** Answers a request of whatever route, with what a browser has to know to let a page see it. */
export async function handle(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  const path = pathOf(request.url);
  try {
    if (isPreflight(request)) return preflight(request, env, methodsAt(path));
  } catch (error) {
    return failureAt(path, error);
  }
  return withCors(request, await answered(path, request, env, ctx), env);
}

async function answered(path: string, request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  const answer = fixed.get(`${request.method} ${path}`);
  if (answer === undefined) return router.fetch(request as unknown as IRequest, env, ctx);
  try {
    return await answer(callOf(request, {}, env, ctx));
  } catch (error) {
    return failureAt(path, error);
  }
}

/** The methods of a path's routes; none when nothing is there. */
function methodsAt(path: string): string[] {
  const matching = router.routes.filter(([method, pattern]) => method !== "ALL" && pattern.test(path));
  return [...new Set(matching.map(([method]) => method))];
}

/** The path of an absolute URL, as it stands in it. */
function pathOf(url: string): string {
  const from = url.indexOf("/", url.indexOf("://") + 3);
  const query = url.indexOf("?", from);
  return query < 0 ? url.slice(from) : url.slice(from, query);
}
