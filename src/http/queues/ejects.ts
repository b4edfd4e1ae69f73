import { QueueError, unwrapQueue } from "../../contract/queue-errors.ts";
import { ejectBody, ejectPageBody } from "../../contract/queue-requests.ts";
import { cursorText, parseCursor } from "../../durable/eject-cursor.ts";
import type { EjectedMessage } from "../../durable/message.ts";
import { admin } from "../rules.ts";
import { param, readQueueBody, type QueueCall, type QueueRoute } from "./call.ts";
import { success } from "./envelope.ts";
import { iso, queueShape } from "./shapes.ts";
import { originShape, wireBody } from "./wire-message.ts";

/** A whole backlog on its way out, page by page. */
export const ejectRoutes: QueueRoute[] = [
  ["POST", "/:queue/eject", admin("eject"), eject],
  ["POST", "/:queue/eject/page", admin("eject"), ejectPage],
];

async function eject(call: QueueCall): Promise<Response> {
  await readQueueBody(call.request, ejectBody);
  const record = unwrapQueue(await call.queues.declarations.getQueue(param(call, "queue")));
  const { ejectId, takenAt, partitions } = await call.queues.eject(record.queueId);
  return success({
    eject_id: ejectId,
    taken_on: iso(takenAt),
    queue: queueShape(record),
    partitions: partitions.map(({ partition, count, cursor }) => ({
      partition,
      count,
      cursor: cursorText(partition, cursor),
    })),
  });
}

async function ejectPage(call: QueueCall): Promise<Response> {
  const { cursor: text, max_bytes } = await readQueueBody(call.request, ejectPageBody);
  const found = parseCursor(text);
  if (found === null) throw new QueueError(10400, "cursor must be what an eject, or its last page, answered");
  const { partition, cursor } = found;
  const page = await call.queues.ejectPage(param(call, "queue"), partition, cursor, max_bytes);
  return success({
    messages: page.messages.map((message) => ejectedShape(partition, message)),
    cursor: page.next === null ? null : cursorText(partition, page.next),
    ...(page.isRestarted && { moment: "restarted" }),
  });
}

function ejectedShape(partition: string, message: EjectedMessage) {
  const { id, ref, type, body, sentAt, dueAt, attempts, origin } = message;
  return {
    id,
    partition,
    ref,
    content_type: type,
    body: wireBody(type, body),
    timestamp_ms: sentAt,
    due_at_ms: dueAt,
    attempts,
    origin: origin === null ? null : originShape(origin),
  };
}
