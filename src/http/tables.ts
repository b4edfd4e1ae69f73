import { failureOf } from "./answers.ts";
import { ephemeralRoutes } from "./ephemeral.ts";
import { queueRoutes } from "./queues/routes.ts";
import type { RouteTable } from "./routes.ts";
import { systemRoutes } from "./system.ts";

/** Every route. The first table whose prefix a path has speaks for it. */
export const tables: RouteTable[] = [
  queueRoutes,
  { routes: [...ephemeralRoutes, ...systemRoutes], prefixes: [""], failure: failureOf },
];
