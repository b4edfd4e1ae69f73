import type { ConsumerConfig, QueueConfig, QueueSettings } from "../contract/queue-config.ts";
import { QueueError } from "../contract/queue-errors.ts";
import type { Database } from "../durable/database.ts";
import type { QueueConsumers } from "./queue-consumers.ts";
import type {
  ConsumerSummary,
  CountedQueue,
  PurgeState,
  QueuePage,
  QueueRecord,
  ResolvedQueue,
} from "./queue-records.ts";
import { settingsOf, type QueueRow, type QueueTable } from "./queue-table.ts";

/** Which durable queues there are, and what their objects are told. Refusals are thrown as `QueueError`. */
export class QueueRegistry {
  readonly #db: Database;
  readonly #queues: QueueTable;
  readonly #consumers: QueueConsumers;

  constructor(db: Database, queues: QueueTable, consumers: QueueConsumers) {
    this.#db = db;
    this.#queues = queues;
    this.#consumers = consumers;
  }

  resolve(nameOrId: string): ResolvedQueue {
    const { queue_id: queueId, name } = this.#queues.get(nameOrId);
    return { queueId, name, partitions: this.#partitions(queueId) };
  }

  /**
   * Every queue, with no more than so many partitions in all: those of queues that have few come first, so that one with
   * many does not hide the others.
   */
  census(maxPartitions: number): CountedQueue[] {
    const rows = this.#db.all<{ queueId: string; name: string; paused: number; total: number }>(
      `SELECT queue_id AS queueId, name, delivery_paused AS paused,
          (SELECT COUNT(*) FROM partitions WHERE partitions.queue_id = queues.queue_id) AS total
        FROM queues ORDER BY total, name`,
    );
    let left = maxPartitions;
    return rows.map(({ queueId, name, paused, total }) => {
      const partitions = left === 0 ? [] : this.#partitions(queueId, left);
      left -= partitions.length;
      const consumers = this.#consumers.of(queueId).map(({ config }) => summaryOf(config));
      return { queueId, name, partitions, isPaused: paused === 1, consumers, skipped: total - partitions.length };
    });
  }

  /** Sorted; a negative limit is none. */
  #partitions(queueId: string, limit = -1): string[] {
    const rows = this.#db.all<{ partition: string }>(
      "SELECT partition FROM partitions WHERE queue_id = ? ORDER BY partition LIMIT ?",
      queueId,
      limit,
    );
    return rows.map(({ partition }) => partition);
  }

  /** Records a queue's object, and answers what it has to know; null = there is no such queue. */
  openPartition(queueId: string, partition: string): QueueConfig | null {
    const config = this.config(queueId);
    if (config === null) return null;
    this.#db.run(
      `INSERT INTO partitions (queue_id, partition, heard) VALUES (?, ?, ?)
        ON CONFLICT (queue_id, partition) DO UPDATE SET heard = excluded.heard WHERE heard < excluded.heard`,
      queueId,
      partition,
      config.version,
    );
    return config;
  }

  /** What the objects of a queue are told; null = there is no such queue. */
  config(queueId: string): QueueConfig | null {
    const row = this.#queues.find(queueId);
    if (row?.queue_id !== queueId) return null;
    const consumers = this.#consumers.of(queueId).map(({ config }) => config);
    return { version: row.version, queueId, name: row.name, settings: settingsOf(row), consumers };
  }

  create(name: string, settings: QueueSettings): QueueRecord {
    return this.#record(this.#queues.insert(name, settings));
  }

  get(nameOrId: string): QueueRecord {
    return this.#record(this.#queues.get(nameOrId));
  }

  list(names: readonly string[], page: number, perPage: number): QueuePage {
    const rows = this.#queues.list(names);
    const queues = rows.slice((page - 1) * perPage, page * perPage).map((row) => this.#record(row));
    return { queues, total: rows.length };
  }

  /** `base` null = what is not given stays as it is. */
  change(
    nameOrId: string,
    name: string | undefined,
    settings: Partial<QueueSettings>,
    base: QueueSettings | null,
  ): QueueRecord {
    const row = this.#queues.get(nameOrId);
    const before = settingsOf(row);
    const after = { ...(base ?? before), ...settings };
    const isRenamed = name !== undefined && name !== row.name;
    const isChanged = Object.entries(after).some(([key, value]) => before[key as keyof QueueSettings] !== value);
    if (isRenamed || isChanged) {
      this.#queues.update(row, name ?? row.name, after);
      this.#queues.bump(row.queue_id);
    }
    // Objects know the queue that takes their dead letters by its name, too.
    if (isRenamed) {
      const sources = this.#consumers
        .sendingDeadLettersTo(row.queue_id)
        .map(({ queue }) => this.#queues.get(queue).queue_id);
      for (const source of new Set(sources)) this.#queues.bump(source);
    }
    return this.get(row.queue_id);
  }

  /** Its objects remain to be destroyed. */
  remove(nameOrId: string): QueueRecord {
    const record = this.get(nameOrId);
    const { queueId, name } = record;
    const sources = this.#consumers.sendingDeadLettersTo(queueId);
    if (sources.length > 0) {
      const named = sources.map(
        ({ queue, config }) => `${JSON.stringify(config.name)} of the queue ${JSON.stringify(queue)}`,
      );
      throw new QueueError(
        10409,
        `the queue ${JSON.stringify(name)} takes the dead letters of the consumer ${named.join(", ")}; give them another dead_letter_queue first`,
      );
    }
    const bridges = this.#db.all<{ source: string }>("SELECT source FROM bridges WHERE queue_id = ?", queueId);
    if (bridges.length > 0) {
      const named = bridges.map(({ source }) => JSON.stringify(source)).join(", ");
      throw new QueueError(
        10409,
        `the queue ${JSON.stringify(name)} is the target of the bridge from ${named}; remove it first`,
      );
    }
    this.#db.run(
      "INSERT INTO destroyed_partitions (queue_id, partition) SELECT queue_id, partition FROM partitions WHERE queue_id = ?",
      queueId,
    );
    this.#queues.delete(queueId);
    return record;
  }

  #record(row: QueueRow): QueueRecord {
    const producers = this.#db.all<{ worker: string }>(
      "SELECT DISTINCT worker FROM producers WHERE queue_id = ? ORDER BY worker",
      row.queue_id,
    );
    return {
      queueId: row.queue_id,
      name: row.name,
      settings: settingsOf(row),
      createdAt: row.created_at,
      modifiedAt: row.modified_at,
      producers: producers.map(({ worker }) => worker),
      consumers: this.#consumers.of(row.queue_id),
    };
  }

  /** Answers when it began, which names the purge. */
  startPurge(nameOrId: string): number {
    const now = Date.now();
    const { queue_id } = this.#queues.get(nameOrId);
    this.#db.run("UPDATE queues SET purge_started_at = ?, purge_completed = 0 WHERE queue_id = ?", now, queue_id);
    return now;
  }

  endPurge(queueId: string, startedAt: number): void {
    this.#db.run(
      "UPDATE queues SET purge_completed = 1 WHERE queue_id = ? AND purge_started_at = ?",
      queueId,
      startedAt,
    );
  }

  purgeState(nameOrId: string): PurgeState {
    const { queue_id } = this.#queues.get(nameOrId);
    const row = this.#db.first<{ startedAt: number | null; completed: number }>(
      "SELECT purge_started_at AS startedAt, purge_completed AS completed FROM queues WHERE queue_id = ?",
      queue_id,
    );
    return { startedAt: row?.startedAt ?? null, isCompleted: row?.completed === 1 };
  }
}

function summaryOf({ name, type, deadLetter }: ConsumerConfig): ConsumerSummary {
  return { name, type, deadLetterQueue: deadLetter?.queue ?? null };
}
