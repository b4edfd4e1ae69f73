/** What a token may let its holder do with an ephemeral queue. */
export const EPHEMERAL_VERBS = ["push", "pop", "ack"] as const;
/** What a token may let its holder do with a durable queue. A send is one message or a batch. */
export const DURABLE_VERBS = ["send", "pull", "ack", "peek", "metrics"] as const;

export type EphemeralVerb = (typeof EPHEMERAL_VERBS)[number];
export type DurableVerb = (typeof DURABLE_VERBS)[number];

/** Names may end in a `*`, which stands for any rest. */
export interface EphemeralClaim {
  queue: string;
  /** Absent = every partition, and all of them at once. */
  partition?: string | undefined;
  /** Absent = every group, and queue mode. */
  group?: string | undefined;
  verbs: EphemeralVerb[];
}

export interface DurableClaim {
  queue: string;
  verbs: DurableVerb[];
}

/** What a token lets its holder do. */
export interface Claims {
  ephemeral?: EphemeralClaim[] | undefined;
  queues?: DurableClaim[] | undefined;
  /** Everything, on every queue. */
  admin?: true | undefined;
}
