import * as z from "zod/mini";
import { QueueError, unwrapQueue } from "../../contract/queue-errors.ts";
import { queueName } from "../../contract/queue-names.ts";
import { parseQueue } from "../../contract/queue-parse.ts";
import { bridgeBody } from "../../contract/queue-requests.ts";
import type { BridgeTarget } from "../../objects/queue-records.ts";
import { param, readQueueBody, type QueueCall, type QueueRoute } from "./call.ts";
import { success, successList } from "./envelope.ts";
import { bridgeShape } from "./shapes.ts";
import { admin } from "../rules.ts";

/** Where the messages of Cloudflare Queues go. */
export const bridgeRoutes: QueueRoute[] = [
  ["GET", "", admin("list the bridges"), list],
  ["GET", "/:source", admin("see a bridge"), get],
  ["PUT", "/:source", admin("declare a bridge"), put],
  ["DELETE", "/:source", admin("delete a bridge"), remove],
];

const sourcePath = z.object({ source: queueName });

async function list({ queues }: QueueCall): Promise<Response> {
  return successList((await queues.declarations.listBridges()).map(bridgeShape));
}

async function get(call: QueueCall): Promise<Response> {
  const source = param(call, "source");
  const bridge = await call.queues.declarations.bridge(source);
  if (bridge !== null) return success(bridgeShape(bridge));
  throw new QueueError(10404, `there is no bridge from ${JSON.stringify(source)}`);
}

async function put({ request, params, queues }: QueueCall): Promise<Response> {
  const { source } = parseQueue(sourcePath, { source: params["source"] });
  const { target } = await readQueueBody(request, bridgeBody);
  const { kind, queue, partition } = target;
  const to: BridgeTarget = typeof partition === "string" ? { kind, queue, partition } : { kind, queue };
  return success(bridgeShape(unwrapQueue(await queues.declarations.putBridge(source, to))));
}

async function remove(call: QueueCall): Promise<Response> {
  return success(bridgeShape(unwrapQueue(await call.queues.declarations.deleteBridge(param(call, "source")))));
}
