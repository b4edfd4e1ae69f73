import type { ConsumerStatus, PartitionStatus } from "./objects/queue-protocol.ts";

/** What the partitions of a durable queue amount to. */
export interface QueueTotals extends Pick<
  PartitionStatus,
  "readyCount" | "delayedCount" | "leasedCount" | "bytes" | "oldestAt" | "sent" | "dropped" | "deadLettered"
> {
  /** The consumer that was delivered to last, of whichever partition. */
  latest: ConsumerStatus | null;
}

export function totalsOf(partitions: readonly PartitionStatus[]): QueueTotals {
  const total = (count: (partition: PartitionStatus) => number) =>
    partitions.reduce((sum, partition) => sum + count(partition), 0);
  return {
    readyCount: total(({ readyCount }) => readyCount),
    delayedCount: total(({ delayedCount }) => delayedCount),
    leasedCount: total(({ leasedCount }) => leasedCount),
    bytes: total(({ bytes }) => bytes),
    oldestAt: least(partitions.map(({ oldestAt }) => oldestAt)),
    sent: total(({ sent }) => sent),
    dropped: {
      expired: total(({ dropped }) => dropped.expired),
      exhausted: total(({ dropped }) => dropped.exhausted),
      purged: total(({ dropped }) => dropped.purged),
    },
    deadLettered: total(({ deadLettered }) => deadLettered),
    latest: latestOf(partitions.flatMap(({ consumers }) => consumers)),
  };
}

function latestOf(consumers: readonly ConsumerStatus[]): ConsumerStatus | null {
  const [latest] = consumers.toSorted((a, b) => (b.lastDeliveryAt ?? 0) - (a.lastDeliveryAt ?? 0));
  return latest ?? null;
}

/** The earliest of some times, of which null is none. */
export function least(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}
