import { Broker } from "../broker.ts";
import type { Env } from "../config.ts";
import { DEFAULT_PARTITION } from "../contract/limits.ts";
import { packMessages } from "../durable/content.ts";
import { DurableQueues } from "../durable-queues.ts";
import type { BridgeTarget } from "../objects/queue-records.ts";
import { draftOf, payloadOf } from "./bridge-body.ts";

/** The queue that a bridge ends in. */
export interface Target {
  /** Throws when it can never take such a body. */
  check(body: unknown): void;
  /** Takes all of them, or none by an error. */
  push(bodies: readonly unknown[]): Promise<unknown>;
}

export function targetOf({ kind, queue, partition = DEFAULT_PARTITION }: BridgeTarget, env: Env): Target {
  if (kind === "ephemeral") {
    const broker = new Broker(env);
    return { check: payloadOf, push: (bodies) => broker.push(queue, bodies.map(payloadOf), partition) };
  }
  const queues = new DurableQueues(env);
  return {
    check: (body) => packMessages([draftOf(body)]),
    push: async (bodies) => queues.send(queue, partition, packMessages(bodies.map(draftOf))),
  };
}
