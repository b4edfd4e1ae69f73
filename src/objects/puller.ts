import { refuseQueue, type QueueRefusal } from "../contract/queue-errors.ts";
import type { Cursor } from "../durable/cursor.ts";
import type { Partition } from "../durable/partition.ts";

/** The cursor that a pull reads by: that of the pull consumer of this name; null = of the only one. Refused while paused. */
export function pullerOf(partition: Partition, consumer: string | null): Cursor | QueueRefusal {
  const { name, settings } = partition.config;
  if (settings.deliveryPaused) return refuseQueue(10252, `delivery of ${name} is paused, and with it pulling`);
  const pulling = [...partition.cursors].filter((cursor) => cursor.consumer?.type === "http_pull");
  const [cursor, ...others] = consumer === null ? pulling : pulling.filter((one) => one.consumer?.name === consumer);
  if (cursor !== undefined && others.length === 0) return cursor;
  const names = pulling.map((one) => one.consumer?.name).join(", ");
  if (names === "") return refuseQueue(10404, `${name} has no pull consumer; add one of type "http_pull" first`);
  if (consumer === null) return refuseQueue(10400, `${name} has several pull consumers; name one of them: ${names}`);
  return refuseQueue(10404, `${name} has no pull consumer ${JSON.stringify(consumer)}; there are: ${names}`);
}
