import { parse } from "../contract/parse.ts";
import { overviewQuery, ownersQuery } from "../contract/requests.ts";
import { Watch } from "../overview.ts";
import { readQueues } from "../queue-readings.ts";
import { VERSION } from "../version.ts";
import { failureOf, json } from "./answers.ts";
import { claimsOf, waitOf } from "./gate.ts";
import { serveMcp } from "./mcp.ts";
import { prometheus } from "./prometheus.ts";
import { queryOf } from "./query.ts";
import { queueMetrics } from "./queue-metrics.ts";
import type { Call, Route } from "./routes.ts";
import { admin, anyToken, open } from "./rules.ts";
import { answerSlowly } from "./slow-answer.ts";
import { sellTicket } from "./tickets.ts";

/** What an operator asks of the broker as a whole. */
export const systemRoutes: Route[] = [
  ["GET", "/api/v1/system/owners", admin("see the owners"), owners],
  ["GET", "/api/v1/system/overview", admin("see the overview"), overview],
  ["GET", "/metrics", admin("see the metrics"), metrics],
  ["POST", "/api/v1/tickets", anyToken, async (call) => sellTicket(call, await claimsOf(call))],
  ["POST", "/mcp", anyToken, serveMcp],
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

/** Every queue; with `?after=`, as soon as anything differs from that version. */
async function overview(call: Call): Promise<Response> {
  const { after, waitMs: wantedMs } = parse(overviewQuery, queryOf(call.request.url));
  const waitMs = await waitOf(call, wantedMs);
  const look = async (signal: AbortSignal) =>
    JSON.stringify(await new Watch(call.env).next(after ?? null, waitMs, signal));
  return answerSlowly(call, look, (error) => failureOf(error).text());
}

async function metrics({ broker, env }: Call): Promise<Response> {
  const [counters, readings] = await Promise.all([broker.counters(), readQueues(env)]);
  const text = prometheus(counters) + queueMetrics(readings);
  return new Response(text, { headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" } });
}
