import type { Backlog, StoredMessage } from "../durable/message.ts";

/** A batch on its way to a consumer. */
export interface OutgoingBatch {
  queue: string;
  metrics: Backlog;
  /** `attempts` count this delivery; 1 = the first. */
  messages: StoredMessage[];
}

export type { Decision, Verdict } from "../durable/push.ts";
