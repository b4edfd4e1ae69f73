import type { QueueSettings } from "../contract/queue-config.ts";
import { QueueError } from "../contract/queue-errors.ts";
import { isQueueId, isQueueName, newQueueId } from "../contract/queue-names.ts";
import { DEFAULT_SETTINGS } from "../contract/queue-requests.ts";
import type { Database } from "../durable/database.ts";

type Value = SqlStorageValue;

export interface QueueRow extends Record<string, Value> {
  queue_id: string;
  name: string;
  version: number;
  delivery_delay: number;
  delivery_paused: number;
  retention: number;
  created_at: number;
  modified_at: number;
}

/** The rows of queues. Whoever changes one says with {@link bump} that its objects must hear of it. */
export class QueueTable {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  find(nameOrId: string): QueueRow | undefined {
    return this.#db.first<QueueRow>("SELECT * FROM queues WHERE queue_id = ?1 OR name = ?1", nameOrId);
  }

  /** Throws when there is no such queue. */
  get(nameOrId: string): QueueRow {
    const row = this.find(nameOrId);
    if (row !== undefined) return row;
    const shown = JSON.stringify(nameOrId.slice(0, 80));
    if (isQueueName(nameOrId)) {
      throw new QueueError(
        10104,
        `there is no queue ${shown}; declare it with POST /api/v1/queues {"queue_name": ${shown}}, or with POST /api/v1/manifests and the queues table of a Worker's wrangler config`,
      );
    }
    if (isQueueId(nameOrId)) throw new QueueError(10104, `there is no queue with the id ${shown}`);
    throw new QueueError(
      10107,
      `${shown} is neither the id of a queue (32 hex digits) nor a name (1 to 63 lower-case letters, digits and hyphens, with a letter or digit at either end)`,
    );
  }

  /** Every queue by name, or those of these names. */
  list(names: readonly string[]): QueueRow[] {
    const rows = this.#db.all<QueueRow>("SELECT * FROM queues ORDER BY name");
    return names.length === 0 ? rows : rows.filter(({ name }) => names.includes(name));
  }

  insert(name: string, settings: QueueSettings = DEFAULT_SETTINGS): QueueRow {
    this.#refuseTaken(name);
    const now = Date.now();
    this.#db.run(
      `INSERT INTO queues (queue_id, name, version, delivery_delay, delivery_paused, retention, created_at, modified_at)
        VALUES (?, ?, 1, ?, ?, ?, ?, ?)`,
      newQueueId(),
      name,
      settings.deliveryDelaySeconds,
      Number(settings.deliveryPaused),
      settings.retentionSeconds,
      now,
      now,
    );
    return this.get(name);
  }

  /** The queue of this name, made when it is missing. */
  ensure(name: string): QueueRow {
    return this.find(name) ?? this.insert(name);
  }

  update({ queue_id, name: before }: QueueRow, name: string, settings: QueueSettings): void {
    if (name !== before) this.#refuseTaken(name);
    this.#db.run(
      "UPDATE queues SET name = ?, delivery_delay = ?, delivery_paused = ?, retention = ? WHERE queue_id = ?",
      name,
      settings.deliveryDelaySeconds,
      Number(settings.deliveryPaused),
      settings.retentionSeconds,
      queue_id,
    );
  }

  #refuseTaken(name: string): void {
    const taken = this.find(name);
    if (taken === undefined) return;
    throw new QueueError(11009, `there is a queue ${JSON.stringify(name)} already; its id is ${taken.queue_id}`);
  }

  /** Its objects are to hear of a change, without waiting for what they failed to hear before. */
  bump(queueId: string): void {
    this.#db.run("UPDATE queues SET version = version + 1, modified_at = ? WHERE queue_id = ?", Date.now(), queueId);
    this.#db.run("UPDATE partitions SET tries = 0, retry_at = 0 WHERE queue_id = ?", queueId);
  }

  /** Its consumers, producers and partitions go with it. */
  delete(queueId: string): void {
    this.#db.run("DELETE FROM queues WHERE queue_id = ?", queueId);
  }
}

export function settingsOf(row: QueueRow): QueueSettings {
  return {
    deliveryDelaySeconds: row.delivery_delay,
    deliveryPaused: row.delivery_paused === 1,
    retentionSeconds: row.retention,
  };
}
