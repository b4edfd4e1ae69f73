import type { Broker } from "../broker.ts";

/** What a route is called with. */
export interface Call {
  request: Request;
  /** The decoded segments that the path names. */
  params: Record<string, string>;
  broker: Broker;
  ctx: ExecutionContext;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export type Route = [method: Method, path: string, handler: (call: Call) => Promise<Response>];
