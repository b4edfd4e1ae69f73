import { unwrapQueue } from "../../contract/queue-errors.ts";
import { readManifest, type NotHonoured } from "../../contract/queue-manifest.ts";
import type { AppliedManifest } from "../../objects/queue-records.ts";
import { bindingsOf, readQueueValue, type QueueCall, type QueueRoute } from "./call.ts";
import { success } from "./envelope.ts";
import { consumerShape, queueShape } from "./shapes.ts";
import { admin } from "../rules.ts";

/** What Workers declare by their wrangler configs. */
export const manifestRoutes: QueueRoute[] = [["POST", "", admin("apply a manifest"), apply]];

async function apply(call: QueueCall): Promise<Response> {
  const manifest = readManifest(await readQueueValue(call.request), bindingsOf(call));
  const applied = unwrapQueue(await call.queues.declarations.applyManifest(manifest));
  return success({ name: manifest.name, ...appliedShape(applied) });
}

/** What holds now, queue by queue, and which keys have no effect. */
function appliedShape({ queues, created, removed, isChanged, notHonoured }: AppliedManifest) {
  return {
    changed: isChanged,
    queues: queues.map((record) => ({
      ...queueShape(record),
      created: created.includes(record.name),
      not_honoured: notHonoured.filter(({ queue }) => queue === record.name).map(keyShape),
    })),
    removed_consumers: removed.map(consumerShape),
  };
}

function keyShape({ queue: _queue, ...entry }: NotHonoured) {
  return entry;
}
