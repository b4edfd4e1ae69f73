import type { ConsumerDraft } from "../contract/queue-consumers.ts";
import { QueueError } from "../contract/queue-errors.ts";
import type { Manifest } from "../contract/queue-manifest.ts";
import type { Database } from "../durable/database.ts";
import { isSame, type QueueConsumers } from "./queue-consumers.ts";
import type { AppliedManifest, ConsumerRecord } from "./queue-records.ts";
import type { QueueRegistry } from "./queue-registry.ts";
import type { QueueRow, QueueTable } from "./queue-table.ts";

/**
 * What Workers declare by their wrangler configs. A manifest is a Worker's whole declaration: a consumer that it declared
 * before and no longer names goes. Queues stay, since they may hold messages.
 */
export class Manifests {
  readonly #db: Database;
  readonly #queues: QueueTable;
  readonly #consumers: QueueConsumers;
  readonly #registry: QueueRegistry;

  constructor(db: Database, queues: QueueTable, consumers: QueueConsumers, registry: QueueRegistry) {
    this.#db = db;
    this.#queues = queues;
    this.#consumers = consumers;
    this.#registry = registry;
  }

  /** Called inside of a transaction: what it throws undoes all of it. */
  apply({ name, producers, consumers, notHonoured }: Manifest): AppliedManifest {
    const named = new Set([
      ...producers.map(({ queue }) => queue),
      ...consumers.flatMap(({ queue, consumer: { deadLetterQueue } }) =>
        deadLetterQueue === null ? [queue] : [queue, deadLetterQueue],
      ),
    ]);
    const created = [...named].filter((queue) => this.#queues.find(queue) === undefined);
    for (const queue of created) this.#queues.insert(queue);
    let isChanged = created.length > 0;

    const kept = new Set<string>();
    for (const { queue, consumer } of consumers) {
      const { record, isNew } = this.#declare(name, this.#queues.get(queue), consumer);
      if (kept.has(record.config.consumerId)) {
        throw new QueueError(
          10400,
          `the manifest declares the consumer ${JSON.stringify(consumer.name)} of the queue ${JSON.stringify(queue)} twice`,
        );
      }
      kept.add(record.config.consumerId);
      isChanged ||= isNew;
    }
    const removed = this.#consumers.declaredBy(name).filter(({ config }) => !kept.has(config.consumerId));
    for (const { queue, config } of removed)
      this.#consumers.remove(this.#queues.get(queue).queue_id, config.consumerId);
    isChanged = this.#setProducers(name, producers) || isChanged || removed.length > 0;
    const queues = [...named].map((queue) => this.#registry.get(queue));
    return { queues, created, removed, isChanged, notHonoured };
  }

  #declare(worker: string, queue: QueueRow, draft: ConsumerDraft): { record: ConsumerRecord; isNew: boolean } {
    const held = this.#consumers.named(queue.queue_id, draft.name);
    if (held === undefined) return { record: this.#consumers.add(queue, draft, worker), isNew: true };
    this.#refuseHeld(worker, held, draft);
    const isNew = held.declaredBy !== worker || !isSame(held.config, draft);
    if (held.declaredBy !== worker) this.#consumers.adopt(held, worker);
    return { record: this.#consumers.replace(queue, held.config.consumerId, draft), isNew };
  }

  /** A consumer belongs to whoever declared it first; one that was declared by itself, to the Worker that it calls. */
  #refuseHeld(worker: string, { queue, config, declaredBy }: ConsumerRecord, draft: ConsumerDraft): void {
    if (declaredBy === worker) return;
    const isOwn =
      declaredBy === null &&
      (isSame(config, draft) ||
        (config.type === "worker" && draft.type === "worker" && config.scriptName === draft.scriptName));
    if (isOwn) return;
    const holder =
      declaredBy === null
        ? "it was declared by itself, and differs"
        : `the manifest of the Worker ${JSON.stringify(declaredBy)} holds it`;
    throw new QueueError(
      10409,
      `the consumer ${JSON.stringify(config.name)} of the queue ${JSON.stringify(queue)} is taken: ${holder}`,
    );
  }

  /** Answers whether anything has changed. */
  #setProducers(worker: string, producers: Manifest["producers"]): boolean {
    const wanted = new Map(producers.map(({ binding, queue }) => [binding, this.#queues.get(queue).queue_id]));
    const rows = this.#db.all<{ binding: string; queue_id: string }>(
      "SELECT binding, queue_id FROM producers WHERE worker = ?",
      worker,
    );
    if (rows.length === wanted.size && rows.every(({ binding, queue_id }) => wanted.get(binding) === queue_id))
      return false;
    this.#db.run("DELETE FROM producers WHERE worker = ?", worker);
    for (const [binding, queueId] of wanted) {
      this.#db.run("INSERT INTO producers (worker, binding, queue_id) VALUES (?, ?, ?)", worker, binding, queueId);
    }
    return true;
  }
}
