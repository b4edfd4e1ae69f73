import type { RouteTable } from "../routes.ts";
import { bridgeRoutes } from "./bridges.ts";
import { mounted, type QueueRoute } from "./call.ts";
import { consumerRoutes } from "./consumers.ts";
import { ejectRoutes } from "./ejects.ts";
import { queueFailure } from "./envelope.ts";
import { importRoutes } from "./imports.ts";
import { manifestRoutes } from "./manifests.ts";
import { messageRoutes } from "./messages.ts";
import { queueTableRoutes } from "./queues.ts";
import { tokenRoutes } from "./tokens.ts";

const QUEUES: QueueRoute[] = [
  ...messageRoutes,
  ...ejectRoutes,
  ...importRoutes,
  ...queueTableRoutes,
  ...consumerRoutes,
];

/**
 * The routes of durable queues, sections 3 and 4 of their contract. Queues stand at a path of their own and where
 * Cloudflare's API has them, so that clients of that API need another base URL and nothing else. There is one account.
 */
export const queueRoutes: RouteTable = {
  prefixes: ["/api/v1/queues", "/api/v1/manifests", "/api/v1/bridges", "/api/v1/tokens", "/client/v4"],
  failure: queueFailure,
  routes: [
    ...QUEUES.map((route) => mounted("/api/v1/queues", route)),
    ...QUEUES.map((route) => mounted("/client/v4/accounts/:account/queues", route)),
    ...manifestRoutes.map((route) => mounted("/api/v1/manifests", route)),
    ...bridgeRoutes.map((route) => mounted("/api/v1/bridges", route)),
    ...tokenRoutes.map((route) => mounted("/api/v1/tokens", route)),
  ],
};
