import { QueueError } from "../contract/queue-errors.ts";
import type { Database } from "../durable/database.ts";
import type { Bridge, BridgeTarget } from "./queue-records.ts";
import type { QueueTable } from "./queue-table.ts";

interface BridgeRow extends Record<string, SqlStorageValue> {
  source: string;
  durable: string | null;
  ephemeral_queue: string | null;
  partition: string | null;
  created_at: number;
}

const SELECT = `SELECT source, queues.name AS durable, ephemeral_queue, partition, bridges.created_at AS created_at
  FROM bridges LEFT JOIN queues USING (queue_id)`;

/** Where the messages of Cloudflare Queues go. A durable target is held by its id: it may be renamed, and not deleted. */
export class Bridges {
  readonly #db: Database;
  readonly #queues: QueueTable;

  constructor(db: Database, queues: QueueTable) {
    this.#db = db;
    this.#queues = queues;
  }

  list(): Bridge[] {
    return this.#db.all<BridgeRow>(`${SELECT} ORDER BY source`).map(bridgeOf);
  }

  find(source: string): Bridge | null {
    const row = this.#db.first<BridgeRow>(`${SELECT} WHERE source = ?`, source);
    return row === undefined ? null : bridgeOf(row);
  }

  get(source: string): Bridge {
    const bridge = this.find(source);
    if (bridge !== null) return bridge;
    throw new QueueError(10404, `there is no bridge from ${JSON.stringify(source.slice(0, 80))}`);
  }

  put(source: string, { kind, queue, partition = null }: PartialTarget): Bridge {
    const queueId = kind === "durable" ? this.#queues.get(queue).queue_id : null;
    this.#db.run(
      `INSERT INTO bridges (source, queue_id, ephemeral_queue, partition, created_at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (source) DO UPDATE SET queue_id = excluded.queue_id, ephemeral_queue = excluded.ephemeral_queue,
          partition = excluded.partition`,
      source,
      queueId,
      kind === "ephemeral" ? queue : null,
      partition,
      Date.now(),
    );
    return this.get(source);
  }

  remove(source: string): Bridge {
    const bridge = this.get(source);
    this.#db.run("DELETE FROM bridges WHERE source = ?", source);
    return bridge;
  }
}

type PartialTarget = Omit<BridgeTarget, "partition"> & { partition?: string | null };

function bridgeOf({ source, durable, ephemeral_queue, partition, created_at }: BridgeRow): Bridge {
  const target: BridgeTarget =
    ephemeral_queue === null
      ? { kind: "durable", queue: durable ?? "" }
      : { kind: "ephemeral", queue: ephemeral_queue };
  if (partition !== null) target.partition = partition;
  return { source, target, createdAt: created_at };
}
