import type { QueueOptions } from "./contract/options.ts";
import type { DropCause } from "./engine/context.ts";
import type { QueueShare } from "./engine/views.ts";

export interface ListedQueue {
  queue: string;
  tier: "declared" | "implicit";
  /** Messages held, leased ones included. */
  depth: number;
  bytes: number;
  partitions: number;
  groups: number;
  drops: Record<DropCause, number>;
  options: QueueOptions;
}

export interface Listing {
  queues: ListedQueue[];
  count: number;
  cellBytes: number;
}

/** Joins what each owner holds into one list, sorted by name. The home's word counts for tier and options. */
export function listing(owners: readonly QueueShare[][]): Listing {
  const byName = Map.groupBy(owners.flat(), ({ queue }) => queue);
  const queues = Array.from(byName.values(), joined).sort((a, b) => (a.queue < b.queue ? -1 : 1));
  return { queues, count: queues.length, cellBytes: queues.reduce((sum, { bytes }) => sum + bytes, 0) };
}

function joined(shares: readonly QueueShare[]): ListedQueue {
  const head = shares.find(({ isHome }) => isHome) ?? (shares[0] as QueueShare);
  const total = (part: (share: QueueShare) => number) => shares.reduce((sum, share) => sum + part(share), 0);
  return {
    queue: head.queue,
    tier: head.declared ? "declared" : "implicit",
    depth: total(({ depth }) => depth),
    bytes: total(({ bytes }) => bytes),
    partitions: total(({ partitions }) => partitions),
    groups: new Set(shares.flatMap(({ groups }) => groups)).size,
    drops: {
      bounds: total(({ drops }) => drops.bounds),
      ttl: total(({ drops }) => drops.ttl),
      retry: total(({ drops }) => drops.retry),
    },
    options: head.options,
  };
}
