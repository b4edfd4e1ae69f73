import type { QueueOptions } from "./options.ts";

/** What `GET /api/v1/system/overview` answers: every queue, in as much detail as a list of them shows. */
export interface Overview {
  /** Changes with anything of the rest but `now`. */
  version: string;
  /** The broker's clock, by which ages are told. */
  now: number;
  durable: DurableOverview[];
  ephemeral: EphemeralOverview[];
}

export interface DurableOverview {
  queue: string;
  queueId: string;
  paused: boolean;
  consumers: { name: string; type: "worker" | "http" | "http_pull"; deadLetterQueue: string | null }[];
  partitions: number;
  /** Partitions that could not be asked, and those that the plan's limit of calls left no room for: they count nowhere. */
  unreachable: number;
  skipped: number;
  ready: number;
  delayed: number;
  leased: number;
  bytes: number;
  oldestAt: number | null;
  /** Messages that came since the partitions were made, without delayed ones that were purged. */
  sent: number;
  dropped: { expired: number; exhausted: number; purged: number };
  deadLettered: number;
  /** The latest of all partitions and consumers; null = nothing was delivered yet. */
  lastDelivery: { at: number; outcome: "ok" | "error" | "unreachable" | null; error: string | null } | null;
}

export interface EphemeralOverview {
  queue: string;
  tier: "declared" | "implicit";
  /** Messages held, leased ones included. */
  depth: number;
  bytes: number;
  partitions: number;
  groups: number;
  oldestAt: number | null;
  /** Messages accepted since the owners of the queue started. */
  pushed: number;
  drops: { bounds: number; ttl: number; retry: number };
  options: QueueOptions;
}
