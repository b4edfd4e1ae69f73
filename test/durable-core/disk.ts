import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import messages from "../../migrations/durable-queue/0001_messages.sql";
import moments from "../../migrations/durable-queue/0002_moments.sql";
import type { ConsumerConfig, PullConsumer, QueueConfig, WorkerConsumer } from "../../src/contract/queue-config.ts";
import { Database } from "../../src/durable/database.ts";
import { packMessages, type Draft } from "../../src/durable/content.ts";
import type { PackedMessages } from "../../src/durable/message.ts";

let objects = 0;

/** Runs something over the SQLite of a fresh object, which is the real one. */
export async function onDisk<T>(act: (disk: Disk) => T | Promise<T>): Promise<T> {
  const namespace = (env as unknown as { DURABLE_QUEUE: DurableObjectNamespace }).DURABLE_QUEUE;
  const stub = namespace.getByName(`core-${objects++}:Default`);
  return runInDurableObject(stub, (_, { storage }) => act(new Disk(storage)));
}

const TABLES = ["log", "delayed", "pending", "holes", "sources", "state", "config", "kept"];

export class Disk {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.sql.exec(messages);
    storage.sql.exec(moments);
  }

  open(): Database {
    return new Database(this.#storage.sql);
  }

  /** Runs a turn whose writes never reach the disk, as when the process is killed in the middle of them. */
  lost(turn: () => void): void {
    const lost = new Error("lost");
    try {
      this.#storage.transactionSync(() => {
        turn();
        throw lost;
      });
    } catch (error) {
      if (error !== lost) throw error;
    }
  }

  rows(table: string): number {
    return this.#storage.sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`).one().n;
  }

  wipe(): void {
    for (const table of TABLES) this.#storage.sql.exec(`DELETE FROM ${table}`);
  }
}

export const WORKER: WorkerConsumer = {
  type: "worker",
  consumerId: "a".repeat(32),
  name: "worker",
  scriptName: "worker",
  binding: "WORKER",
  deadLetter: null,
  batchSize: 10,
  maxRetries: 3,
  retryDelaySeconds: 0,
  maxConcurrency: 1,
  maxWaitMs: 0,
};

export const PULL: PullConsumer = {
  type: "http_pull",
  consumerId: "b".repeat(32),
  name: "pull",
  deadLetter: null,
  batchSize: 10,
  maxRetries: 3,
  retryDelaySeconds: 0,
  visibilityTimeoutMs: 30_000,
};

export const DEAD_LETTERS = { queueId: "d".repeat(32), queue: "dead" };

let versions = 0;

export function config(consumers: ConsumerConfig[], settings: Partial<QueueConfig["settings"]> = {}): QueueConfig {
  return {
    version: ++versions,
    queueId: "c".repeat(32),
    name: "orders",
    settings: { deliveryDelaySeconds: 0, deliveryPaused: false, retentionSeconds: 345_600, ...settings },
    consumers,
  };
}

export function packed(...bodies: unknown[]): PackedMessages {
  return packMessages(bodies.map((body): Draft => ({ body })));
}
