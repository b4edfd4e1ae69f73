import { parse } from "../contract/parse.ts";
import { ownersQuery } from "../contract/requests.ts";
import { readQueues } from "../queue-readings.ts";
import { VERSION } from "../version.ts";
import { json } from "./answers.ts";
import { claimsOf } from "./gate.ts";
import { prometheus } from "./prometheus.ts";
import { queryOf } from "./query.ts";
import { queueMetrics } from "./queue-metrics.ts";
import type { Call, Route } from "./routes.ts";
import { admin, anyToken, open } from "./rules.ts";
import { sellTicket } from "./tickets.ts";

/** What an operator asks of the broker as a whole. */
export const systemRoutes: Route[] = [
  ["GET", "/api/v1/system/owners", admin("see the owners"), owners],
  ["GET", "/metrics", admin("see the metrics"), metrics],
  ["POST", "/api/v1/tickets", anyToken, async (call) => sellTicket(call, await claimsOf(call))],
  ["GET", "/health", open, health],
];

/** Answered to everybody and without waking an owner: a check every second must cost nothing. */
async function health({ broker }: Call): Promise<Response> {
  return json({ status: "ok", version: VERSION, owners: broker.config.owners });
}

/** Which owner holds what; with `?queue=`, which partitions of it. */
async function owners({ request, broker }: Call): Promise<Response> {
  const { queue } = parse(ownersQuery, { queue: queryOf(request.url)["queue"] });
  return json({ owners: await broker.owners(queue ?? null) });
}

async function metrics({ broker, env }: Call): Promise<Response> {
  const [counters, readings] = await Promise.all([broker.counters(), readQueues(env)]);
  const text = prometheus(counters) + queueMetrics(readings);
  return new Response(text, { headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" } });
}
