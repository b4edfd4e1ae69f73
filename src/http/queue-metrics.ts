import type { ConsumerStatus, PartitionStatus } from "../objects/queue-protocol.ts";
import type { QueueReading } from "../queue-readings.ts";
import { head, sample, type MetricType } from "./exposition.ts";

type Sample = [labels: Record<string, string>, value: number];

/** A metric of each queue. */
interface Metric {
  name: string;
  help: string;
  type: MetricType;
  of: (reading: QueueReading) => Sample[];
}

const sum = <T>(all: readonly T[], part: (one: T) => number) => all.reduce((total, one) => total + part(one), 0);

/** Whether nothing is missing: a sum of some partitions looks like a counter that was reset. */
function isWhole({ unreachable, skipped }: QueueReading): boolean {
  return unreachable + skipped === 0;
}

function ofQueue(name: string, help: string, value: (reading: QueueReading) => number): Metric {
  return { name, help, type: "gauge", of: (reading) => [[{}, value(reading)]] };
}

/** A sum over the partitions that have answered. */
function gauge(name: string, help: string, parts: (partition: PartitionStatus) => Sample[]): Metric {
  return { name, help, type: "gauge", of: ({ partitions }) => summed(partitions, parts) };
}

/** A sum over the partitions; left out where any of them has not answered. */
function counter(name: string, help: string, parts: (partition: PartitionStatus) => Sample[]): Metric {
  const of = (reading: QueueReading) => (isWhole(reading) ? summed(reading.partitions, parts) : []);
  return { name, help, type: "counter", of };
}

function consumers(name: string, help: string, value: (consumer: ConsumerStatus) => number): Metric {
  return gauge(name, help, (partition) =>
    partition.consumers.map((consumer): Sample => [{ consumer: consumer.name }, value(consumer)]),
  );
}

/** Adds up the samples with the same labels. */
function summed(partitions: readonly PartitionStatus[], parts: (partition: PartitionStatus) => Sample[]): Sample[] {
  const all = Map.groupBy(partitions.flatMap(parts), ([labels]) => JSON.stringify(labels));
  return Array.from(all, ([labels, samples]) => [
    JSON.parse(labels) as Record<string, string>,
    sum(samples, ([, value]) => value),
  ]);
}

const METRICS: Metric[] = [
  gauge("messages", "Messages held, by state.", ({ readyCount, delayedCount, leasedCount }) => [
    [{ state: "ready" }, readyCount],
    [{ state: "delayed" }, delayedCount],
    [{ state: "leased" }, leasedCount],
  ]),
  gauge("backlog_bytes", "Bytes of bodies held.", ({ bytes }) => [[{}, bytes]]),
  {
    name: "oldest_message_age_seconds",
    help: "Age of the oldest message held; absent while there is none.",
    type: "gauge",
    of: ({ partitions }) => {
      const times = partitions.flatMap(({ oldestAt }) => oldestAt ?? []);
      return times.length === 0 ? [] : [[{}, Math.max(0, Date.now() - Math.min(...times)) / 1000]];
    },
  },
  counter("dropped_total", "Messages that were removed without being settled, by reason.", ({ dropped }) =>
    Object.entries(dropped).map(([reason, count]): Sample => [{ reason }, count]),
  ),
  counter("dead_lettered_total", "Messages that a dead-letter queue has taken.", ({ deadLettered }) => [
    [{}, deadLettered],
  ]),
  counter("rows_written_total", "Rows written since the objects of the queue were started.", ({ rowsWritten }) => [
    [{}, rowsWritten],
  ]),
  ofQueue("delivery_paused", "1 while delivery is paused.", ({ isPaused }) => Number(isPaused)),
  consumers("consumer_backlog", "Messages that a consumer has not settled.", ({ backlogCount }) => backlogCount),
  consumers("consumer_batches_out", "Batches that a consumer works on.", ({ batchesOut }) => batchesOut),
  ofQueue("partitions_unreachable", "Partitions that could not be asked.", ({ unreachable }) => unreachable),
  ofQueue("partitions_skipped", "Partitions beyond the calls that one scrape may make.", ({ skipped }) => skipped),
];

/** Durable queues in the Prometheus text format, by queue. */
export function queueMetrics(readings: readonly QueueReading[]): string {
  const lines = METRICS.flatMap(({ name, help, type, of }) => [
    head(`waggle_queue_${name}`, help, type),
    ...readings.flatMap((reading) =>
      of(reading).map(([labels, value]) => sample(`waggle_queue_${name}`, { queue: reading.queue, ...labels }, value)),
    ),
  ]);
  return [...lines, ""].join("\n");
}
