import type { ConsumerConfig, QueueConfig } from "../../src/contract/queue-config.ts";
import type { Cursor, Delivery } from "../../src/durable/cursor.ts";
import { packMessages, type Draft } from "../../src/durable/content.ts";
import type { Database } from "../../src/durable/database.ts";
import { Partition } from "../../src/durable/partition.ts";
import type { Decision } from "../../src/durable/push.ts";
import type { PeekedMessage, StoredMessage } from "../../src/durable/message.ts";
import { config, onDisk, WORKER, type Disk } from "./disk.ts";

const START = 1_700_000_000_000;

/** A partition over a real disk, with a clock of its own; each call is a turn. */
export class Bench {
  now = START;
  partition: Partition;
  #config: QueueConfig;
  db: Database;
  readonly said: { event: string; details: Record<string, unknown> }[] = [];

  constructor(
    readonly disk: Disk,
    consumers: ConsumerConfig[],
    settings: Partial<QueueConfig["settings"]> = {},
  ) {
    this.#config = config(consumers, settings);
    this.db = disk.open();
    this.partition = this.#open();
  }

  #open(): Partition {
    return new Partition(this.db, "Default", this.#config, this.now, {
      log: (event, details) => this.said.push({ event, details }),
    });
  }

  /** The object is started again from its disk. */
  restart(): void {
    this.db = this.disk.open();
    this.partition = this.#open();
  }

  configure(consumers: ConsumerConfig[], settings: Partial<QueueConfig["settings"]> = {}): Delivery[] {
    this.#config = config(consumers, settings);
    this.partition.configure(this.#config, this.now);
    return this.handOver();
  }

  pass(seconds: number): Delivery[] {
    this.now += seconds * 1000;
    return this.handOver();
  }

  /** Answers what leaves because of it. */
  send(drafts: Draft[]): Delivery[] {
    this.partition.send([packMessages(drafts)], this.now, () => true);
    return this.handOver();
  }

  sendAll(...values: unknown[]): Delivery[] {
    return this.send(values.map((body) => ({ body })));
  }

  handOver(): Delivery[] {
    const deliveries = this.partition.handOver(this.now, () => true);
    this.partition.save();
    return deliveries;
  }

  finish({ flight }: Delivery, decisions: Decision[], error: string | null = null): Delivery[] {
    this.partition.finish(flight, { kind: "done", decisions, error }, this.now);
    return this.handOver();
  }

  /** Every message of it is acked. */
  ack(delivery: Delivery): Delivery[] {
    return this.finish(
      delivery,
      delivery.messages.map(() => ({ kind: "ack" })),
    );
  }

  /** Every message of it is retried. */
  fail(delivery: Delivery, error = "it failed", delaySeconds: number | null = null): Delivery[] {
    return this.finish(
      delivery,
      delivery.messages.map(() => ({ kind: "retry", delaySeconds })),
      error,
    );
  }

  unreachable({ flight }: Delivery): Delivery[] {
    this.partition.finish(flight, { kind: "unreachable", reason: "nobody is there" }, this.now);
    return this.handOver();
  }

  cursor(name = WORKER.name): Cursor {
    const found = [...this.partition.cursors].find(({ consumer }) => consumer?.name === name);
    if (found === undefined) throw new Error(`there is no consumer ${name}`);
    return found;
  }

  pull(limit = 10, visibilityTimeoutMs = 30_000) {
    const pulled = this.partition.pull(this.cursor("pull"), this.now, limit, visibilityTimeoutMs);
    this.partition.save();
    return pulled;
  }

  peek(): PeekedMessage[] {
    return this.partition.peek(this.now, 1000);
  }

  /** Rows written by what `act` does. */
  rows(act: () => void): number {
    const before = this.db.rowsWritten;
    act();
    return this.db.rowsWritten - before;
  }
}

/** Runs a test over a partition with these consumers. */
export function over(
  consumers: ConsumerConfig[],
  act: (bench: Bench) => void,
  settings: Partial<QueueConfig["settings"]> = {},
): () => Promise<void> {
  return () => onDisk((disk) => act(new Bench(disk, consumers, settings)));
}

export function bodyOf({ body }: StoredMessage): unknown {
  return JSON.parse(new TextDecoder().decode(body));
}

/** The bodies of deliveries, batch by batch. */
export function bodies(deliveries: readonly Delivery[]): unknown[][] {
  return deliveries.map(({ messages }) => messages.map(bodyOf));
}

/** The only one of a list. */
export function only<T>(list: readonly T[]): T {
  const [first] = list;
  if (first === undefined || list.length !== 1) throw new Error(`there are ${list.length}`);
  return first;
}
