import type { Bearer } from "../auth/verifier.ts";
import type { Broker } from "../broker.ts";
import type { Env } from "../config.ts";
import type { Rule } from "./rules.ts";

/** What a route is called with. */
export interface Call {
  request: Request;
  /** The decoded segments that the path names. */
  params: Record<string, string>;
  broker: Broker;
  env: Env;
  ctx: ExecutionContext;
  /** Answers another request of the API, for a route that is a client of it. */
  self(request: Request): Promise<Response>;
  /** What was read of the request; see {@link once}. */
  asked?: Promise<unknown>;
  /** Whoever calls, once anybody wanted to know; see `claimsOf`. */
  bearer?: Promise<Bearer>;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A route, and who may call it. */
export type Route = [method: Method, path: string, rule: Rule, handler: (call: Call) => Promise<Response>];

/** Routes that answer failures in one envelope. */
export interface RouteTable {
  routes: Route[];
  /** What the paths of these routes begin with; unknown paths below get the same envelope. */
  prefixes: string[];
  failure(error: unknown, headers?: Record<string, string>): Response;
}

/** Reads what a route is asked for, once for its rule and its handler together. A route has one reader. */
export function once<T>(read: (call: Call) => Promise<T>): (call: Call) => Promise<T> {
  return (call) => (call.asked ??= read(call)) as Promise<T>;
}
