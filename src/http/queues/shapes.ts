import type { QueueSettings } from "../../contract/queue-config.ts";
import { wireSettings } from "../../contract/queue-consumers.ts";
import type { QueueStatus } from "../../durable-queues.ts";
import type { Backlog } from "../../durable/message.ts";
import type { ConsumerStatus, PartitionStatus } from "../../objects/queue-protocol.ts";
import { least, totalsOf } from "../../queue-totals.ts";
import type { Bridge, ConsumerRecord, QueueRecord } from "../../objects/queue-records.ts";

/** What Declarations and the objects know, in the shapes of Cloudflare's API. */

export function queueShape(record: QueueRecord) {
  return {
    queue_id: record.queueId,
    queue_name: record.name,
    created_on: iso(record.createdAt),
    modified_on: iso(record.modifiedAt),
    producers: record.producers.map((script) => ({ type: "worker", script })),
    producers_total_count: record.producers.length,
    consumers: record.consumers.map(consumerShape),
    consumers_total_count: record.consumers.length,
    settings: settingsShape(record.settings),
  };
}

function settingsShape(settings: QueueSettings) {
  return {
    delivery_delay: settings.deliveryDelaySeconds,
    delivery_paused: settings.deliveryPaused,
    message_retention_period: settings.retentionSeconds,
  };
}

/** The secret of an HTTP consumer is not among it. */
export function consumerShape({ queue, config, createdAt, declaredBy }: ConsumerRecord) {
  return {
    consumer_id: config.consumerId,
    created_on: iso(createdAt),
    queue_name: queue,
    name: config.name,
    type: config.type,
    ...target(config),
    dead_letter_queue: config.deadLetter?.queue ?? null,
    declared_by: declaredBy,
    settings: wireSettings(config),
  };
}

/** wrangler reads `script` where the API says `script_name`. */
function target(config: ConsumerRecord["config"]) {
  switch (config.type) {
    case "worker":
      return { script_name: config.scriptName, script: config.scriptName, binding: config.binding };
    case "http":
      return { url: config.url };
    case "http_pull":
      return {};
  }
}

export function bridgeShape({ source, target: to, createdAt }: Bridge) {
  return { source, target: to, created_on: iso(createdAt) };
}

export function metricsShape({ count, bytes, oldestAt }: Backlog) {
  // The original says 0 when there is no message.
  return { backlog_count: count, backlog_bytes: bytes, oldest_message_timestamp_ms: oldestAt ?? 0 };
}

/** Why something arrives or does not arrive. */
export function statusShape({ partitions, unreachable }: QueueStatus, now: number) {
  const { readyCount, delayedCount, leasedCount, bytes, oldestAt, dropped, deadLettered, latest } =
    totalsOf(partitions);
  return {
    ready_count: readyCount,
    delayed_count: delayedCount,
    leased_count: leasedCount,
    backlog_bytes: bytes,
    oldest_message_age_seconds: oldestAt === null ? null : Math.max(0, Math.floor((now - oldestAt) / 1000)),
    next_alarm: isoOr(least(partitions.map(({ nextAlarmAt }) => nextAlarmAt))),
    dropped,
    dead_lettered: deadLettered,
    last_delivery: isoOr(latest?.lastDeliveryAt ?? null),
    last_outcome: latest?.lastOutcome ?? null,
    last_error: latest?.lastError ?? null,
    partitions: partitions.map(partitionShape),
    unreachable,
  };
}

function partitionShape(status: PartitionStatus) {
  return {
    partition: status.partition,
    ready_count: status.readyCount,
    delayed_count: status.delayedCount,
    leased_count: status.leasedCount,
    backlog_bytes: status.bytes,
    oldest_message_timestamp_ms: status.oldestAt ?? 0,
    next_alarm: isoOr(status.nextAlarmAt),
    rows_written: status.rowsWritten,
    consumers: status.consumers.map(consumerStatusShape),
  };
}

function consumerStatusShape(status: ConsumerStatus) {
  return {
    consumer_id: status.consumerId,
    name: status.name,
    backlog_count: status.backlogCount,
    batches_out: status.batchesOut,
    last_delivery: isoOr(status.lastDeliveryAt),
    last_outcome: status.lastOutcome,
    last_error: status.lastError,
    retry_at: isoOr(status.retryAt),
    dead_letters_waiting: status.deadLettersWaiting,
  };
}

export function iso(time: number): string {
  return new Date(time).toISOString();
}

export function isoOr(time: number | null): string | null {
  return time === null ? null : iso(time);
}
