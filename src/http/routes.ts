import type { Broker } from "../broker.ts";
import type { Env } from "../config.ts";

/** What a route is called with. */
export interface Call {
  request: Request;
  /** The decoded segments that the path names. */
  params: Record<string, string>;
  broker: Broker;
  env: Env;
  ctx: ExecutionContext;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export type Route = [method: Method, path: string, handler: (call: Call) => Promise<Response>];

/** Routes that answer failures in one envelope. */
export interface RouteTable {
  routes: Route[];
  /** What the paths of these routes begin with; unknown paths below get the same envelope. */
  prefixes: string[];
  failure(error: unknown, headers?: Record<string, string>): Response;
}
