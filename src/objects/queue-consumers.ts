import type { ConsumerConfig } from "../contract/queue-config.ts";
import type { ConsumerDraft } from "../contract/queue-consumers.ts";
import { QueueError } from "../contract/queue-errors.ts";
import { newQueueId } from "../contract/queue-names.ts";
import type { Database } from "../durable/database.ts";
import type { ConsumerRecord } from "./queue-records.ts";
import type { QueueRow, QueueTable } from "./queue-table.ts";

interface ConsumerRow extends Record<string, SqlStorageValue> {
  consumer_id: string;
  queue: string;
  name: string;
  dead_letter_queue: string | null;
  dead_letter_name: string | null;
  config: string;
  created_at: number;
  declared_by: string | null;
}

const SELECT = `SELECT consumer_id, queues.name AS queue, consumers.name AS name, dead_letter_queue,
    dead_letters.name AS dead_letter_name, config, consumers.created_at AS created_at, declared_by
  FROM consumers JOIN queues ON queues.queue_id = consumers.queue_id
  LEFT JOIN queues AS dead_letters ON dead_letters.queue_id = dead_letter_queue`;

/** Who consumes which queue. Every method that changes something bumps the queue, unless nothing has changed. */
export class QueueConsumers {
  readonly #db: Database;
  readonly #queues: QueueTable;

  constructor(db: Database, queues: QueueTable) {
    this.#db = db;
    this.#queues = queues;
  }

  /** Those of a queue. Pull consumers come first: wrangler removes the first one when it is told to remove "the" pull consumer. */
  of(queueId: string): ConsumerRecord[] {
    const records = this.#select("consumers.queue_id = ? ORDER BY consumers.created_at, consumers.name", queueId);
    const [pulling, pushed] = [true, false].map((isPull) =>
      records.filter(({ config }) => (config.type === "http_pull") === isPull),
    ) as [ConsumerRecord[], ConsumerRecord[]];
    return [...pulling, ...pushed];
  }

  /** Those that a Worker's manifest declared, of all queues. */
  declaredBy(worker: string): ConsumerRecord[] {
    return this.#select("declared_by = ? ORDER BY queues.name, consumers.name", worker);
  }

  /** Those that give their dead letters to a queue. */
  sendingDeadLettersTo(queueId: string): ConsumerRecord[] {
    return this.#select("dead_letter_queue = ? ORDER BY queues.name, consumers.name", queueId);
  }

  /** Throws when the queue has no such consumer. */
  get({ queue_id, name }: QueueRow, consumerId: string): ConsumerRecord {
    const [record] = this.#select("consumers.queue_id = ? AND consumer_id = ?", queue_id, consumerId);
    if (record !== undefined) return record;
    throw new QueueError(
      10404,
      `the queue ${JSON.stringify(name)} has no consumer ${JSON.stringify(consumerId.slice(0, 80))}`,
    );
  }

  named(queueId: string, name: string): ConsumerRecord | undefined {
    return this.#select("consumers.queue_id = ? AND consumers.name = ?", queueId, name)[0];
  }

  add(queue: QueueRow, draft: ConsumerDraft, declaredBy: string | null): ConsumerRecord {
    this.#refuseTaken(queue, draft.name);
    const config = configOf(draft, null);
    const consumerId = newQueueId();
    this.#db.run(
      `INSERT INTO consumers (consumer_id, queue_id, name, dead_letter_queue, config, created_at, declared_by)
        VALUES (?, ?, ?, ?, ?, ?, ?)`,
      consumerId,
      queue.queue_id,
      draft.name,
      this.#deadLetterQueue(queue, draft),
      config,
      Date.now(),
      declaredBy,
    );
    this.#queues.bump(queue.queue_id);
    return this.get(queue, consumerId);
  }

  /** Gives a consumer other settings; its place in the queue stays. */
  replace(queue: QueueRow, consumerId: string, draft: ConsumerDraft): ConsumerRecord {
    const before = this.get(queue, consumerId);
    if (isSame(before.config, draft)) return before;
    if (before.config.name !== draft.name) this.#refuseTaken(queue, draft.name);
    this.#db.run(
      "UPDATE consumers SET name = ?, dead_letter_queue = ?, config = ? WHERE consumer_id = ?",
      draft.name,
      this.#deadLetterQueue(queue, draft),
      configOf(draft, before.config),
      consumerId,
    );
    this.#queues.bump(queue.queue_id);
    return this.get(queue, consumerId);
  }

  /** A manifest names a consumer that was declared by itself. Nothing that the queue's objects know changes. */
  adopt({ config: { consumerId } }: ConsumerRecord, worker: string): void {
    this.#db.run("UPDATE consumers SET declared_by = ? WHERE consumer_id = ?", worker, consumerId);
  }

  remove(queueId: string, consumerId: string): void {
    this.#db.run("DELETE FROM consumers WHERE consumer_id = ?", consumerId);
    this.#queues.bump(queueId);
  }

  #select(where: string, ...values: string[]): ConsumerRecord[] {
    return this.#db.all<ConsumerRow>(`${SELECT} WHERE ${where}`, ...values).map(recordOf);
  }

  #refuseTaken({ queue_id, name: queue }: QueueRow, name: string): void {
    if (this.named(queue_id, name) === undefined) return;
    throw new QueueError(
      11004,
      `the queue ${JSON.stringify(queue)} has a consumer ${JSON.stringify(name)} with other settings; change it with PUT, or give this one another name`,
    );
  }

  #deadLetterQueue({ queue_id, name }: QueueRow, { deadLetterQueue }: ConsumerDraft): string | null {
    if (deadLetterQueue === null) return null;
    const target = this.#queues.ensure(deadLetterQueue);
    if (target.queue_id !== queue_id) return target.queue_id;
    throw new QueueError(
      10400,
      `dead_letter_queue is ${JSON.stringify(name)}, the queue itself; it must be another queue`,
    );
  }
}

/** Everything that has no column of its own. */
function configOf(
  { name: _name, deadLetterQueue: _queue, ...rest }: ConsumerDraft,
  before: ConsumerConfig | null,
): string {
  if (rest.type !== "http" || rest.secret !== null) return JSON.stringify(rest);
  if (before?.type === "http") return JSON.stringify({ ...rest, secret: before.secret });
  throw new QueueError(10400, "secret is required: a consumer of type http checks its batches by it");
}

function recordOf({
  queue,
  dead_letter_queue,
  dead_letter_name,
  created_at,
  declared_by,
  ...row
}: ConsumerRow): ConsumerRecord {
  const deadLetter =
    dead_letter_queue === null || dead_letter_name === null
      ? null
      : { queueId: dead_letter_queue, queue: dead_letter_name };
  const config = {
    consumerId: row.consumer_id,
    name: row.name,
    deadLetter,
    ...JSON.parse(row.config),
  } as ConsumerConfig;
  return { queue, config, createdAt: created_at, declaredBy: declared_by };
}

/** Whether a consumer is already what somebody wants it to be. */
export function isSame({ consumerId: _id, deadLetter, ...config }: ConsumerConfig, draft: ConsumerDraft): boolean {
  const wanted =
    draft.type === "http" && draft.secret === null && config.type === "http"
      ? { ...draft, secret: config.secret }
      : draft;
  const actual: Record<string, unknown> = { ...config, deadLetterQueue: deadLetter?.queue ?? null };
  const entries = Object.entries(wanted);
  return entries.length === Object.keys(actual).length && entries.every(([key, value]) => actual[key] === value);
}
