import { consumerDraft } from "../../contract/queue-consumers.ts";
import { unwrapQueue } from "../../contract/queue-errors.ts";
import { bindingsOf, param, readQueueValue, type QueueCall, type QueueRoute } from "./call.ts";
import { success, successList } from "./envelope.ts";
import { consumerShape } from "./shapes.ts";
import { admin } from "../rules.ts";

/** Who gets the messages of a queue. */
export const consumerRoutes: QueueRoute[] = [
  ["GET", "/:queue/consumers", admin("list the consumers"), list],
  ["POST", "/:queue/consumers", admin("add a consumer"), create],
  ["GET", "/:queue/consumers/:consumer", admin("see a consumer"), get],
  ["PUT", "/:queue/consumers/:consumer", admin("replace a consumer"), replace],
  ["DELETE", "/:queue/consumers/:consumer", admin("delete a consumer"), remove],
];

async function list(call: QueueCall): Promise<Response> {
  const { consumers } = unwrapQueue(await call.queues.declarations.getQueue(param(call, "queue")));
  return successList(consumers.map(consumerShape));
}

/** One that is there with the same settings is answered as it is. */
async function create(call: QueueCall): Promise<Response> {
  const draft = consumerDraft(await readQueueValue(call.request), bindingsOf(call));
  return success(
    consumerShape(unwrapQueue(await call.queues.declarations.createConsumer(param(call, "queue"), draft))),
  );
}

async function get(call: QueueCall): Promise<Response> {
  const { declarations } = call.queues;
  return success(
    consumerShape(unwrapQueue(await declarations.getConsumer(param(call, "queue"), param(call, "consumer")))),
  );
}

/** A key that is not given returns to its default. */
async function replace(call: QueueCall): Promise<Response> {
  const draft = consumerDraft(await readQueueValue(call.request), bindingsOf(call));
  const { declarations } = call.queues;
  const replaced = declarations.replaceConsumer(param(call, "queue"), param(call, "consumer"), draft);
  return success(consumerShape(unwrapQueue(await replaced)));
}

async function remove(call: QueueCall): Promise<Response> {
  const { declarations } = call.queues;
  const removed = declarations.deleteConsumer(param(call, "queue"), param(call, "consumer"));
  return success(consumerShape(unwrapQueue(await removed)));
}
