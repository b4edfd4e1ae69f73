import type { Broker } from "../broker.ts";
import { parse } from "../contract/parse.ts";
import { readPush } from "../contract/push-body.ts";
import { ackBody, configureBody, groupOf, popQuery, resetBody, type ConfigureBody } from "../contract/requests.ts";
import type { PopRequest } from "../engine/engine.ts";
import { readBody, readJson, readValue } from "./body.ts";
import { queryOf } from "./query.ts";
import { once } from "./routes.ts";

/** What the ephemeral routes are asked for, where the path alone does not say it: read for their rules and by them. */

export const pushOf = once(async ({ request }) => readPush(await readBody(request)));

const popQueries = new Map<number, ReturnType<typeof popQuery>>();

/** The schema of a pop's query depends on one var and is built once for it. */
function popQueryOf({ config: { popTimeoutMs } }: Broker): ReturnType<typeof popQuery> {
  const schema = popQueries.get(popTimeoutMs) ?? popQuery(popTimeoutMs);
  popQueries.set(popTimeoutMs, schema);
  return schema;
}

export const popOf = once(async ({ request, broker }): Promise<PopRequest> => {
  const query = parse(popQueryOf(broker), queryOf(request.url));
  return {
    queue: query.queue,
    partition: query.partition ?? null,
    group: groupOf(query.group),
    batch: query.batch,
    autoAck: query.autoAck || query.commitOnDelivery,
    waitMs: query.wait ? query.timeout : 0,
    waiterId: query.wait ? crypto.randomUUID() : "",
  };
});

export const ackOf = once(async ({ request }) => {
  const { queue, group, acks } = await readJson(request, ackBody);
  return { queue, group: groupOf(group), acks };
});

/** With the options as they were sent, in the order of the sender. */
export const configureOf = once(async ({ request }) => {
  const sent = await readValue(request);
  const { queue, options = {} } = parse(configureBody, sent);
  return { queue, options, sent: (sent as ConfigureBody).options ?? {} };
});

export const resetOf = once(({ request }) => readJson(request, resetBody));
