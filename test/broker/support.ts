import { env, exports } from "cloudflare:workers";
import type { Env } from "../../src/config.ts";

/** How many owners this run of the suite has. */
export const OWNERS = Number((env as unknown as Env).OWNERS);

/** The broker, as a client on the network sees it. */
export function call(path: string, init?: RequestInit): Promise<Response> {
  return (exports as unknown as { default: Fetcher }).default.fetch(`http://waggle${path}`, init);
}
