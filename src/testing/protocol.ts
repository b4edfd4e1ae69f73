import type { Settlement } from "../durable/message.ts";

/** A message that a test has taken out of a queue, as a handler is to see it. */
export interface TakenMessage {
  id: string;
  timestamp: Date;
  /** 1 at the first delivery. */
  attempts: number;
  body: unknown;
  leaseId: string;
}

/** The entrypoint `Testing` of the broker, as its binding is typed. */
export interface TestingBinding {
  declare(queue: string, settings: object): Promise<void>;
  take(queue: string, limit: number): Promise<TakenMessage[]>;
  settle(queue: string, settlements: Settlement[]): Promise<void>;
  backlog(queue: string): Promise<number>;
  ephemeralBacklog(queue: string): Promise<number>;
  evict(): Promise<void>;
  crash(): Promise<void>;
}
