import type { Broker } from "../broker.ts";
import { parse } from "../contract/parse.ts";
import {
  ackBody,
  ackStatus,
  configureBody,
  depthQuery,
  groupOf,
  groupPath,
  popQuery,
  queueName,
  resetBody,
  type ConfigureBody,
} from "../contract/requests.ts";
import { json, rawJson } from "./answers.ts";
import { readBody, readJson, readValue } from "./body.ts";
import { answerPop } from "./pop.ts";
import { readPush } from "./push-body.ts";
import { queryOf } from "./query.ts";
import type { Call, Route } from "./routes.ts";

/** The routes of ephemeral queues, section 2 of the wire contract. */
export const ephemeralRoutes: Route[] = [
  ["POST", "/api/v1/ephemeral/push", push],
  ["GET", "/api/v1/ephemeral/pop", pop],
  ["POST", "/api/v1/ephemeral/ack", ack],
  ["POST", "/api/v1/ephemeral/configure", configure],
  ["POST", "/api/v1/ephemeral/reset", reset],
  ["DELETE", "/api/v1/ephemeral/queue/:queue", remove],
  ["GET", "/api/v1/ephemeral/queues", list],
  ["GET", "/api/v1/ephemeral/queues/:queue/depth", depth],
  ["DELETE", "/api/v1/ephemeral/queues/:queue/groups/:group", dropGroup],
];

async function push({ request, broker }: Call): Promise<Response> {
  const { queue, partition, payloads, isAscii, options } = readPush(await readBody(request));
  return rawJson(`{"pushed":${await broker.push(queue, payloads, partition, isAscii, options)}}`, 201);
}

const popQueries = new Map<number, ReturnType<typeof popQuery>>();

/** The schema of a pop's query depends on one var and is built once for it. */
function popQueryOf({ config: { popTimeoutMs } }: Broker): ReturnType<typeof popQuery> {
  const schema = popQueries.get(popTimeoutMs) ?? popQuery(popTimeoutMs);
  popQueries.set(popTimeoutMs, schema);
  return schema;
}

async function pop({ request, broker, ctx }: Call): Promise<Response> {
  const query = parse(popQueryOf(broker), queryOf(request.url));
  return answerPop(
    broker,
    {
      queue: query.queue,
      partition: query.partition ?? null,
      group: groupOf(query.group),
      batch: query.batch,
      autoAck: query.autoAck || query.commitOnDelivery,
      waitMs: query.wait ? query.timeout : 0,
      waiterId: query.wait ? crypto.randomUUID() : "",
    },
    request.signal,
    ctx,
  );
}

async function ack({ request, broker }: Call): Promise<Response> {
  const { queue, group, acks } = await readJson(request, ackBody);
  const outcomes = await broker.ack(
    queue,
    groupOf(group),
    acks.map(({ id, status, attempts }) => ({ id, status: ackStatus(status), attempts: attempts ?? undefined })),
  );
  return json({ results: acks.map(({ id }, index) => ({ id, outcome: outcomes[index] })) });
}

async function configure({ request, broker }: Call): Promise<Response> {
  const sent = await readValue(request);
  const { queue, options = {} } = parse(configureBody, sent);
  await broker.configure(queue, options);
  // Echoed as it was sent, in the order of the sender.
  return json({ queue, options: (sent as ConfigureBody).options ?? {}, declared: true }, 201);
}

async function reset({ request, broker }: Call): Promise<Response> {
  const { queue } = await readJson(request, resetBody);
  return json({ queue, dropped: await broker.reset(queue) });
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
