import type { BacklogDetail } from "../durable/message.ts";
import type { Partition } from "../durable/partition.ts";
import type { ConsumerStatus, PartitionStatus } from "./queue-protocol.ts";

export const NO_BACKLOG: BacklogDetail = {
  count: 0,
  bytes: 0,
  oldestAt: null,
  readyCount: 0,
  delayedCount: 0,
  leasedCount: 0,
};

/** How a partition is doing, as its object knows it; null = its queue does not exist. */
export function statusOf(
  partition: Partition | null,
  name: string,
  object: Pick<PartitionStatus, "nextAlarmAt" | "rowsWritten">,
): PartitionStatus {
  const { expired = 0, exhausted = 0, purged = 0, deadLettered = 0 } = partition?.counters ?? {};
  return {
    ...(partition?.backlogDetail(Date.now()) ?? NO_BACKLOG),
    ...object,
    partition: name,
    consumers: partition === null ? [] : [...consumersOf(partition)],
    dropped: { expired, exhausted, purged },
    deadLettered,
    sent: partition?.sent ?? 0,
  };
}

function* consumersOf(partition: Partition): Generator<ConsumerStatus> {
  for (const cursor of partition.cursors) {
    const { consumer, flights, last, failures, retryAt } = cursor;
    if (consumer === null) continue;
    yield {
      consumerId: consumer.consumerId,
      name: consumer.name,
      backlogCount: partition.owed(cursor),
      batchesOut: flights.size,
      lastDeliveryAt: last?.at ?? null,
      lastOutcome: last?.outcome ?? null,
      lastError: last?.error ?? null,
      retryAt: failures > 0 && retryAt > 0 ? retryAt : null,
      deadLettersWaiting: partition.lettersWaiting(cursor),
    };
  }
}
