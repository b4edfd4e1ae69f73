import type { DurableVerb, EphemeralVerb } from "../contract/rights.ts";

/** The right that a request needs, as plain data. What it names is as the client wrote it: no object was asked. */
export type Need = TokenNeed | AdminNeed | EphemeralNeed | DepthNeed | DurableNeed;

/** Any token that is valid. */
export interface TokenNeed {
  of: "token";
}

export interface AdminNeed {
  of: "admin";
  /** What is to be done, for the text of a refusal. */
  verb: string;
  queue: string | null;
}

export interface EphemeralNeed {
  of: "ephemeral";
  verb: EphemeralVerb;
  queue: string;
  /** Each must be allowed; null = all that there are, known or not. */
  partitions: readonly string[] | null;
  /** null = the verb knows no groups. */
  group: string | null;
}

/** Sight of a whole ephemeral queue: of every partition, and of every group. */
export interface DepthNeed {
  of: "depth";
  queue: string;
}

export interface DurableNeed {
  of: "durable";
  verb: DurableVerb;
  /** Its name or its id. */
  queue: string;
}

export function pushNeed({ queue, partition }: { queue: string; partition: string }): EphemeralNeed {
  return { of: "ephemeral", verb: "push", queue, partitions: [partition], group: null };
}

/** `partition` null = any, which is all of them. */
export function popNeed(pop: { queue: string; partition: string | null; group: string }): EphemeralNeed {
  const { queue, partition, group } = pop;
  return { of: "ephemeral", verb: "pop", queue, partitions: partition === null ? null : [partition], group };
}
