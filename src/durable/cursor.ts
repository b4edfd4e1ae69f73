import type { ConsumerConfig, HttpConsumer, WorkerConsumer } from "../contract/queue-config.ts";
import type { StoredMessage } from "./message.ts";
import type { Mark, RowSpan } from "./log.ts";

/** A message that is out. */
export interface FlightEntry {
  seq: number;
  /** This delivery included. */
  attempts: number;
  bytes: number;
  row: RowSpan;
  /** Whatever is said of it when it comes back counts for nothing. */
  isPurged: boolean;
}

/** A batch that was handed to a consumer and has not come back. */
export interface Flight {
  cursor: Cursor;
  entries: FlightEntry[];
  /** Of what has not been purged. */
  count: number;
  bytes: number;
}

/** A batch on its way out: the flight, and what it carries. */
export interface Delivery {
  flight: Flight;
  messages: StoredMessage[];
}

export type PushConsumerConfig = WorkerConsumer | HttpConsumer;

/** How the last delivery of a cursor went. */
export interface LastDelivery {
  at: number;
  outcome: "ok" | "error" | "unreachable";
  error: string | null;
}

/**
 * How far a consumer has come. What lies before its position it has settled, but for what is pending or out. A queue
 * without consumers has one cursor of nobody's, which keeps the place for the first that comes.
 */
export class Cursor {
  readonly number: number;
  position: Mark;
  consumer: ConsumerConfig | null = null;
  /** Whose it is, though the consumer itself may not be known yet. */
  consumerId: string | null;
  readonly flights = new Set<Flight>();
  /** Batches that could not be handed over because nobody was reached; they go first when it is tried again. */
  readonly held: Flight[] = [];
  /** How often in a row nobody was reached. */
  failures = 0;
  /** Until when nobody is tried. */
  retryAt = 0;
  /** The number of the next dead letter. */
  nextDead: number;
  last: LastDelivery | null = null;

  constructor(number: number, consumerId: string | null, position: Mark, nextDead = 1) {
    this.number = number;
    this.consumerId = consumerId;
    this.position = { ...position };
    this.nextDead = nextDead;
  }

  /** The consumer, if messages are pushed to it. */
  get push(): PushConsumerConfig | null {
    const { consumer } = this;
    return consumer !== null && consumer.type !== "http_pull" ? consumer : null;
  }

  get out(): Flight[] {
    return [...this.flights, ...this.held];
  }
}
