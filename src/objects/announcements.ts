import type { QueueConfig } from "../contract/queue-config.ts";
import type { Database } from "../durable/database.ts";
import type { DurableQueueMethods } from "./queue-protocol.ts";

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
/** How long an object may take to take a change in before it counts as one that could not be reached. */
const PATIENCE_MS = 5000;

type Listener = Pick<DurableQueueMethods, "configure" | "destroy">;

interface Due extends Record<string, SqlStorageValue> {
  queue_id: string;
  partition: string;
  tries: number;
}

export interface AnnouncementOptions {
  object(queueId: string, partition: string): Listener;
  config(queueId: string): QueueConfig | null;
  /** Asks for another {@link Announcements.flush} at this time; null = at none. */
  wake(at: number | null): Promise<void>;
  /** How many objects one event may call. */
  calls: number;
}

/** Tells the objects of queues what was declared, each until it has confirmed it. What is outstanding is written down. */
export class Announcements {
  readonly #db: Database;
  readonly #options: AnnouncementOptions;

  constructor(db: Database, options: AnnouncementOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** Calls every object that is due once. Whoever cannot be reached is called again later, by the alarm. */
  async flush(): Promise<void> {
    const now = Date.now();
    const { calls } = this.#options;
    const destroyed = this.#db.all<Due>(
      "SELECT queue_id, partition, tries FROM destroyed_partitions WHERE retry_at <= ? LIMIT ?",
      now,
      calls,
    );
    const changed = this.#db.all<Due>(
      `SELECT queue_id, partition, tries FROM partitions JOIN queues USING (queue_id)
        WHERE heard < version AND retry_at <= ? LIMIT ?`,
      now,
      calls - destroyed.length,
    );
    // Before the calls: this object may be stopped in the middle of them.
    const isIdle = destroyed.length + changed.length === 0;
    const armed = isIdle ? undefined : this.#options.wake(now + 2 * PATIENCE_MS);
    const configs = new Map<string, QueueConfig | null>();
    for (const { queue_id } of changed) {
      if (!configs.has(queue_id)) configs.set(queue_id, this.#options.config(queue_id));
    }
    await Promise.all([
      armed,
      ...destroyed.map((due) => this.#destroy(due)),
      ...changed.map((due) => this.#configure(due, configs.get(due.queue_id) ?? null)),
    ]);
    const next = this.#next();
    if (next !== null || !isIdle) await this.#options.wake(next === null ? null : Math.max(next, Date.now()));
  }

  async #configure(due: Due, config: QueueConfig | null): Promise<void> {
    if (config === null) return;
    const { queue_id, partition } = due;
    if (!(await this.#reach("partitions", due, (object) => object.configure(config)))) return;
    this.#db.run(
      "UPDATE partitions SET heard = MAX(heard, ?), tries = 0, retry_at = 0 WHERE queue_id = ? AND partition = ?",
      config.version,
      queue_id,
      partition,
    );
  }

  async #destroy(due: Due): Promise<void> {
    const { queue_id, partition } = due;
    if (!(await this.#reach("destroyed_partitions", due, (object) => object.destroy()))) return;
    this.#db.run("DELETE FROM destroyed_partitions WHERE queue_id = ? AND partition = ?", queue_id, partition);
  }

  /** Answers whether the object has taken it in. */
  async #reach(
    table: "partitions" | "destroyed_partitions",
    { queue_id, partition, tries }: Due,
    tell: (object: Listener) => Promise<void>,
  ): Promise<boolean> {
    try {
      await inTime(tell(this.#options.object(queue_id, partition)));
      return true;
    } catch (error) {
      console.warn({ event: "queue_not_told", table, queueId: queue_id, partition, tries, error: String(error) });
      this.#db.run(
        `UPDATE ${table} SET tries = ?, retry_at = ? WHERE queue_id = ? AND partition = ?`,
        tries + 1,
        Date.now() + Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** tries),
        queue_id,
        partition,
      );
      return false;
    }
  }

  /** When somebody is due; null = everybody has heard. */
  #next(): number | null {
    const row = this.#db.first<{ at: number | null }>(
      `SELECT MIN(at) AS at FROM (
        SELECT MIN(retry_at) AS at FROM partitions JOIN queues USING (queue_id) WHERE heard < version
        UNION ALL SELECT MIN(retry_at) FROM destroyed_partitions)`,
    );
    return row?.at ?? null;
  }
}

async function inTime(call: Promise<void>): Promise<void> {
  const abort = new AbortController();
  const late = scheduler.wait(PATIENCE_MS, { signal: abort.signal }).then(
    () => Promise.reject(new Error(`no answer within ${PATIENCE_MS} ms`)),
    () => undefined,
  );
  try {
    await Promise.race([call, late]);
  } finally {
    abort.abort();
    call.catch(() => {});
  }
}
