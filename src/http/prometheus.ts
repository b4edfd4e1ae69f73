import type { OwnerCounters } from "../objects/protocol.ts";
import { head, sample, type MetricType } from "./exposition.ts";

/** The counters of all owners, summed, in the Prometheus text format. They count from the start of each owner. */
export function prometheus(owners: readonly OwnerCounters[]): string {
  const sum = (part: (owner: OwnerCounters) => number) => owners.reduce((total, owner) => total + part(owner), 0);
  const dropped = {
    bounds: sum(({ dropped: { bounds } }) => bounds),
    ttl: sum(({ dropped: { ttl } }) => ttl),
    retry: sum(({ dropped: { retry } }) => retry),
    group_idle: sum(({ groupIdleOwed }) => groupIdleOwed),
  };
  return [
    counter(
      "pushed_total",
      "Messages accepted.",
      sum(({ pushed }) => pushed),
    ),
    counter(
      "popped_total",
      "Messages handed out, repeats included.",
      sum(({ popped }) => popped),
    ),
    counter(
      "acked_total",
      "Messages acknowledged.",
      sum(({ acked }) => acked),
    ),
    counter(
      "redelivered_total",
      "Messages that came back, by lease expiry or on request.",
      sum((o) => o.redelivered),
    ),
    head("waggle_ephemeral_dropped_total", "Messages that left unacknowledged, by cause.", "counter"),
    ...Object.entries(dropped).map(([cause, value]) => sample("waggle_ephemeral_dropped_total", { cause }, value)),
    counter(
      "forwarded_total",
      "Calls that owners made to each other.",
      sum(({ forwarded }) => forwarded),
    ),
    counter(
      "handed_over_total",
      "Partitions that one owner has handed over to another.",
      sum(({ adopted }) => adopted),
    ),
    counter(
      "wipes_total",
      "Owners that started after a life that ended with contents.",
      sum(({ wipes }) => wipes),
    ),
    counter(
      "alarms_set_total",
      "Alarms set, a row each.",
      sum(({ alarmsSet }) => alarmsSet),
    ),
    counter(
      "checkpoint_rows_total",
      "Rows written for checkpoints.",
      sum((o) => o.checkpointRows),
    ),
    gauge(
      "bytes",
      "Payload bytes held.",
      sum(({ bytes }) => bytes),
    ),
    gauge("queues", "Queues held.", new Set(owners.flatMap(({ queues }) => queues)).size),
    gauge(
      "parked_pops",
      "Pops that wait for messages.",
      sum(({ parkedPops }) => parkedPops),
    ),
    gauge(
      "subscribers",
      "Consumers that have subscribed over a WebSocket.",
      sum(({ subscribers }) => subscribers),
    ),
    "",
  ].join("\n");
}

function counter(name: string, help: string, value: number): string {
  return metric(name, help, "counter", value);
}

function gauge(name: string, help: string, value: number): string {
  return metric(name, help, "gauge", value);
}

function metric(name: string, help: string, type: MetricType, value: number): string {
  return `${head(`waggle_ephemeral_${name}`, help, type)}\nwaggle_ephemeral_${name} ${value}`;
}
