import { decodeBody } from "../durable/content.ts";
import type { StoredMessage } from "../durable/message.ts";
import type { OutgoingBatch } from "./batch.ts";
import type { BatchMetrics, PlainBatch, PlainMessage } from "./protocol.ts";

/** The batch as plain values: what a handler reads of it. */
export function plainBatch({ queue, messages, metrics }: OutgoingBatch): PlainBatch {
  const batch: BatchMetrics = { backlogCount: metrics.count, backlogBytes: metrics.bytes };
  if (metrics.oldestAt !== null) batch.oldestMessageTimestamp = new Date(metrics.oldestAt);
  return { queue, messages: messages.map(plainMessage), metadata: { metrics: batch } };
}

function plainMessage({ id, sentAt, type, body, attempts }: StoredMessage): PlainMessage {
  return { id, timestamp: new Date(sentAt), body: decodeBody(type, body), attempts };
}
