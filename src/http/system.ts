import { parse } from "../contract/parse.ts";
import { ownersQuery } from "../contract/requests.ts";
import { VERSION } from "../version.ts";
import { json } from "./answers.ts";
import { prometheus } from "./prometheus.ts";
import { queryOf } from "./query.ts";
import type { Call, Route } from "./routes.ts";

/** What an operator asks of the broker as a whole. */
export const systemRoutes: Route[] = [
  ["GET", "/api/v1/system/owners", owners],
  ["GET", "/metrics", metrics],
];

/** Answered to everybody and without waking an owner: a check every second must cost nothing. */
export const healthRoute: Route = ["GET", "/health", health];

async function health({ broker }: Call): Promise<Response> {
  return json({ status: "ok", version: VERSION, owners: broker.config.owners });
}

/** Which owner holds what; with `?queue=`, which partitions of it. */
async function owners({ request, broker }: Call): Promise<Response> {
  const { queue } = parse(ownersQuery, { queue: queryOf(request.url)["queue"] });
  return json({ owners: await broker.owners(queue ?? null) });
}

async function metrics({ broker }: Call): Promise<Response> {
  const text = prometheus(await broker.counters());
  return new Response(text, { headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" } });
}
