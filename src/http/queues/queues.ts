import { unwrapQueue } from "../../contract/queue-errors.ts";
import { parseQueue } from "../../contract/queue-parse.ts";
import {
  changeQueueBody,
  createQueueBody,
  DEFAULT_SETTINGS,
  listQuery,
  purgeBody,
  settingsOf,
} from "../../contract/queue-requests.ts";
import type { QueueSettings } from "../../contract/queue-config.ts";
import { queryOf } from "../query.ts";
import { param, readQueueBody, type QueueCall, type QueueRoute } from "./call.ts";
import { success } from "./envelope.ts";
import { isoOr, metricsShape, queueShape, statusShape } from "./shapes.ts";
import { admin, durable } from "../rules.ts";

/** Queues themselves. */
export const queueTableRoutes: QueueRoute[] = [
  ["POST", "", admin("declare a queue"), create],
  ["GET", "", admin("list the queues"), list],
  ["GET", "/:queue", admin("see the status"), get],
  ["PATCH", "/:queue", admin("change"), (call) => change(call, null)],
  ["PUT", "/:queue", admin("replace"), (call) => change(call, DEFAULT_SETTINGS)],
  ["DELETE", "/:queue", admin("delete"), remove],
  ["GET", "/:queue/metrics", durable("metrics"), metrics],
  ["POST", "/:queue/purge", admin("purge"), purge],
  ["GET", "/:queue/purge", admin("see the purge"), purgeState],
];

/** What fits a page when it is asked for. A client that asks for no page reads no second one. */
const PER_PAGE = 100;

async function create({ request, queues }: QueueCall): Promise<Response> {
  const { queue_name, settings } = await readQueueBody(request, createQueueBody);
  const record = await queues.declarations.createQueue(queue_name, { ...DEFAULT_SETTINGS, ...settingsOf(settings) });
  return success(queueShape(unwrapQueue(record)));
}

async function list({ request, queues }: QueueCall): Promise<Response> {
  const query = queryOf(request.url);
  const { page = 1, per_page = query["page"] === undefined ? Number.MAX_SAFE_INTEGER : PER_PAGE } = parseQueue(
    listQuery,
    {
      page: query["page"],
      per_page: query["per_page"],
    },
  );
  // wrangler asks for several names at once.
  const names = new URL(request.url).searchParams.getAll("name");
  const { queues: records, total } = await queues.declarations.listQueues(names, page, per_page);
  const info = { page, per_page: Math.min(per_page, Math.max(1, total)), count: records.length, total_count: total };
  return success(records.map(queueShape), info);
}

/** With its status, so that "nothing arrives" can always be explained. */
async function get(call: QueueCall): Promise<Response> {
  const { queues } = call;
  const queue = param(call, "queue");
  const record = unwrapQueue(await queues.declarations.getQueue(queue));
  return success({ ...queueShape(record), status: statusShape(await queues.status(record.queueId), Date.now()) });
}

async function change(call: QueueCall, base: QueueSettings | null): Promise<Response> {
  const { queue_name, settings } = await readQueueBody(call.request, changeQueueBody);
  const changed = call.queues.declarations.changeQueue(param(call, "queue"), queue_name, settingsOf(settings), base);
  return success(queueShape(unwrapQueue(await changed)));
}

async function remove(call: QueueCall): Promise<Response> {
  return success(queueShape(unwrapQueue(await call.queues.declarations.deleteQueue(param(call, "queue")))));
}

async function metrics(call: QueueCall): Promise<Response> {
  return success(metricsShape(await call.queues.backlog(param(call, "queue"))));
}

async function purge(call: QueueCall): Promise<Response> {
  await readQueueBody(call.request, purgeBody);
  const queue = param(call, "queue");
  await call.queues.purge(queue);
  return success(queueShape(unwrapQueue(await call.queues.declarations.getQueue(queue))));
}

/** `completed` is a text, as the original's API has it. */
async function purgeState(call: QueueCall): Promise<Response> {
  const { startedAt, isCompleted } = unwrapQueue(await call.queues.declarations.purgeState(param(call, "queue")));
  return success({ completed: String(isCompleted), started_at: isoOr(startedAt) });
}
