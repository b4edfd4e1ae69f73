import { ackNeed } from "../auth/ack-need.ts";
import { popNeed, pushNeed, type Need } from "../auth/need.ts";
import { parse } from "../contract/parse.ts";
import { ackStatus, depthQuery, groupPath, queueName } from "../contract/requests.ts";
import { json, rawJson } from "./answers.ts";
import { transferRoutes } from "./ephemeral-transfer.ts";
import { ackOf, configureOf, popOf, pushOf, resetOf } from "./ephemeral-requests.ts";
import { waitOf } from "./gate.ts";
import { answerPop } from "./pop.ts";
import { queryOf } from "./query.ts";
import type { Call, Route } from "./routes.ts";
import { admin, orTicket } from "./rules.ts";
import { subscribe, subscribeOf } from "./subscribe.ts";

/** The routes of ephemeral queues, section 2 of the wire contract. */
export const ephemeralRoutes: Route[] = [
  ["POST", "/api/v1/ephemeral/push", async (call) => pushNeed(await pushOf(call)), push],
  ["GET", "/api/v1/ephemeral/pop", async (call) => popNeed(await popOf(call)), pop],
  ["GET", "/api/v1/ephemeral/subscribe", orTicket(async (call) => popNeed(await subscribeOf(call))), subscribe],
  ["POST", "/api/v1/ephemeral/ack", ackRule, ack],
  ["POST", "/api/v1/ephemeral/configure", admin("configure", configureOf), configure],
  ["POST", "/api/v1/ephemeral/reset", admin("reset", resetOf), reset],
  ["DELETE", "/api/v1/ephemeral/queue/:queue", admin("delete"), remove],
  ["GET", "/api/v1/ephemeral/queues", admin("list the queues"), list],
  [
    "GET",
    "/api/v1/ephemeral/queues/:queue/depth",
    ({ params }) => ({ of: "depth", queue: params["queue"] ?? "" }),
    depth,
  ],
  ["DELETE", "/api/v1/ephemeral/queues/:queue/groups/:group", admin("delete a group"), dropGroup],
  ...transferRoutes,
];

async function push(call: Call): Promise<Response> {
  const { queue, partition, payloads, isAscii, options } = await pushOf(call);
  return rawJson(`{"pushed":${await call.broker.push(queue, payloads, partition, isAscii, options)}}`, 201);
}

async function pop(call: Call): Promise<Response> {
  const asked = await popOf(call);
  const waitMs = await waitOf(call, asked.waitMs);
  return answerPop(call.broker, { ...asked, waitMs }, call.request.signal, call.ctx);
}

async function ackRule(call: Call): Promise<Need> {
  const { queue, group, acks } = await ackOf(call);
  return ackNeed({ queue, group, acks });
}

async function ack(call: Call): Promise<Response> {
  const { queue, group, acks } = await ackOf(call);
  const outcomes = await call.broker.ack(
    queue,
    group,
    acks.map(({ id, status, attempts }) => ({ id, status: ackStatus(status), attempts: attempts ?? undefined })),
  );
  return json({ results: acks.map(({ id }, index) => ({ id, outcome: outcomes[index] })) });
}

async function configure(call: Call): Promise<Response> {
  const { queue, options, sent } = await configureOf(call);
  await call.broker.configure(queue, options);
  return json({ queue, options: sent, declared: true }, 201);
}

async function reset(call: Call): Promise<Response> {
  const { queue } = await resetOf(call);
  return json({ queue, dropped: await call.broker.reset(queue) });
}

async function remove({ broker, params }: Call): Promise<Response> {
  const { queue } = parse(queueName, params);
  return json({ queue, ...(await broker.delete(queue)) });
}

async function list({ broker }: Call): Promise<Response> {
  return json(await broker.queues());
}

async function depth({ request, broker, params }: Call): Promise<Response> {
  const { queue, group } = parse(depthQuery, { queue: params["queue"], group: queryOf(request.url)["group"] });
  return json(await broker.depth(queue, group ?? null));
}

async function dropGroup({ broker, params }: Call): Promise<Response> {
  const { queue, group } = parse(groupPath, params);
  return json({ queue, group, deleted: await broker.dropGroup(queue, group) });
}
