import type { Env } from "./config.ts";
import { isQueueRefusal, QueueError, unwrapQueue, type QueueRefusal } from "./contract/queue-errors.ts";
import type { EjectCursor } from "./durable/eject-cursor.ts";
import { merged } from "./durable/merge.ts";
import type { EjectedPage } from "./durable/moment.ts";
import { END, START, parsePlaces, placesText } from "./durable/places.ts";
import { newQueueId } from "./contract/queue-names.ts";
import { parseLease, parseRef } from "./durable/refs.ts";
import type { Declarations } from "./objects/declarations.ts";
import type {
  Backlog,
  BacklogDetail,
  ImportedMessage,
  PackedMessages,
  PeekedMessage,
  PulledMessage,
  Settlement,
  SettleOutcome,
} from "./durable/message.ts";
import type { BegunMoment, DurableQueueMethods, PartitionStatus } from "./objects/queue-protocol.ts";
import type { ResolvedQueue } from "./objects/queue-records.ts";
import type { Remote } from "./objects/remote.ts";
import { QueueObjects, tooMany, type Identity } from "./queue-objects.ts";
import { pull, type PullRequest } from "./queue-pull.ts";

export interface QueueStatus {
  partitions: PartitionStatus[];
  /** Partitions that could not be asked. */
  unreachable: { partition: string; error: string }[];
}

/** What every partition of a queue held at one time. */
export interface BegunEject {
  ejectId: string;
  takenAt: number;
  partitions: (BegunMoment & { partition: string })[];
}

/**
 * Durable queues as a whole, for whoever speaks for a client: finds the objects of a queue, asks them, and joins what they
 * answer. A queue is named by its name or its id. Throws `QueueError`s. Made anew for each event: it counts its calls.
 */
export class DurableQueues {
  readonly #objects: QueueObjects;

  constructor(env: Env) {
    this.#objects = new QueueObjects(env);
  }

  get declarations(): Remote<Declarations> {
    return this.#objects.declarations;
  }

  /** Stores messages, all or none. Answers what its partition holds then. */
  send(queue: string, partition: string, messages: PackedMessages): Promise<Backlog> {
    return this.#store(queue, partition, (object, name) => object.send(name, messages));
  }

  /** Stores messages as they were elsewhere, all or none. Answers how many of them were new. */
  import(queue: string, partition: string, source: string, messages: ImportedMessage[]): Promise<number> {
    return this.#store(queue, partition, (object, name) => object.import(name, source, messages));
  }

  async #store<T>(
    queue: string,
    partition: string,
    act: (object: DurableQueueMethods, name: string) => Promise<T | QueueRefusal>,
  ): Promise<T> {
    const ask = ({ queueId, name }: Identity) => this.#objects.ask(act(this.#objects.of(queueId, partition), name));
    const remembered = this.#objects.remembered(queue);
    const identity = remembered ?? (await this.resolve(queue));
    const sent = await ask(identity);
    if (remembered === undefined || !isQueueRefusal(sent) || sent.refused !== 10104) return unwrapQueue(sent);
    // It was renamed or deleted since; nothing was stored.
    return unwrapQueue(await ask(await this.resolve(queue)));
  }

  /** Finds a queue; throws 10104 or 10107. */
  resolve(queue: string): Promise<ResolvedQueue> {
    return this.#objects.resolve(queue);
  }

  /** What all partitions hold; with `partly`, as many of them as can still be asked. */
  async backlog(queue: string, { partly = false } = {}): Promise<BacklogDetail> {
    const { queueId, partitions } = await this.resolve(queue);
    const asked = partly ? partitions.slice(0, this.#objects.callsLeft) : partitions;
    const backlogs = await this.#objects.all({ queueId, partitions: asked }, (object) => object.backlog());
    const total = (count: (backlog: BacklogDetail) => number) => backlogs.reduce((sum, each) => sum + count(each), 0);
    const oldest = Math.min(...backlogs.map(({ oldestAt }) => oldestAt ?? Infinity));
    return {
      count: total(({ count }) => count),
      bytes: total(({ bytes }) => bytes),
      oldestAt: oldest === Infinity ? null : oldest,
      readyCount: total(({ readyCount }) => readyCount),
      delayedCount: total(({ delayedCount }) => delayedCount),
      leasedCount: total(({ leasedCount }) => leasedCount),
    };
  }

  /** How every partition is doing. One that cannot be asked does not hide the others. */
  async status(queue: string): Promise<QueueStatus> {
    const { queueId, partitions } = await this.resolve(queue);
    const status: QueueStatus = { partitions: [], unreachable: [] };
    const within = this.#objects.callsLeft;
    const asked = partitions.map(async (partition, index) => {
      if (index >= within) throw tooMany(partitions.length, within);
      return this.#objects.ask(this.#objects.of(queueId, partition).status());
    });
    for (const [index, answer] of (await Promise.allSettled(asked)).entries()) {
      if (answer.status === "fulfilled") status.partitions.push(answer.value);
      else status.unreachable.push({ partition: partitions[index] ?? "", error: String(answer.reason) });
    }
    return status;
  }

  /** The oldest messages of all partitions. */
  async peek(queue: string, limit: number): Promise<PeekedMessage[]> {
    const peeked = await this.#objects.all(await this.resolve(queue), (object) => object.peek(limit));
    const messages = peeked.flat().sort((a, b) => a.sentAt - b.sentAt);
    return messages.slice(0, limit);
  }

  /**
   * Messages that became ready after a place, oldest first, and the place after them: what this answered before, `start` or `end`.
   * Throws 10400 for a place that is none.
   */
  async peekAfter(queue: string, limit: number, after: string): Promise<{ messages: PeekedMessage[]; after: string }> {
    const resolved = await this.resolve(queue);
    const { partitions } = resolved;
    const from = after === END ? null : placesOf(after);
    // A partition that was not there yet is read from its start.
    const runs = await this.#objects.all(resolved, (object, partition) =>
      object.peekFrom(limit, from === null ? null : (from.get(partition) ?? 0)),
    );
    const { messages, heads } = merged(runs, limit);
    // What did not fit comes with the next call.
    const places = partitions.map((partition, i): [string, number] => {
      const next = heads[i] === undefined ? undefined : parseRef(heads[i].ref)?.seq;
      return [partition, next ?? runs[i]?.next ?? 0];
    });
    return { messages, after: placesText(places) };
  }

  /** Begins a moment in every partition, which {@link ejectPage} reads. */
  async eject(queue: string): Promise<BegunEject> {
    const resolved = await this.resolve(queue);
    const ejectId = newQueueId();
    const takenAt = Date.now();
    const moments = await this.#objects.all(resolved, (object) => object.eject(ejectId));
    const partitions = moments.map((moment, i) => {
      return { partition: resolved.partitions[i] ?? "", ...unwrapQueue(moment) };
    });
    return { ejectId, takenAt, partitions };
  }

  async ejectPage(queue: string, partition: string, cursor: EjectCursor, maxBytes: number): Promise<EjectedPage> {
    const { queueId, partitions } = await this.resolve(queue);
    if (believed(partitions, partition) === null) throw new QueueError(10400, "the cursor is of another queue");
    return unwrapQueue(await this.#objects.ask(this.#objects.of(queueId, partition).ejectPage(cursor, maxBytes)));
  }

  /** Removes the messages that refs name. Answers those that name nothing. */
  async purgeRefs(queue: string, refs: string[]): Promise<string[]> {
    const { queueId, partitions } = await this.resolve(queue);
    const byPartition = Map.groupBy(refs, (ref) => believed(partitions, parseRef(ref)?.partition));
    this.#objects.mayAsk({ partitions: namedBy(byPartition) });
    const unknown = await Promise.all(
      Array.from(byPartition, ([partition, own]) =>
        partition === null ? own : this.#objects.ask(this.#objects.of(queueId, partition).purgeRefs(own)),
      ),
    );
    return unknown.flat();
  }

  /** Removes everything that the queue holds. */
  async purge(queue: string): Promise<void> {
    this.#objects.mayAsk(await this.resolve(queue), 3);
    const startedAt = unwrapQueue(await this.#objects.ask(this.declarations.startPurge(queue)));
    const resolved = await this.resolve(queue);
    await this.#objects.all(resolved, (object) => object.purge());
    await this.#objects.ask(this.declarations.endPurge(resolved.queueId, startedAt));
  }

  /** Leases messages to a pull client; waits for the first when there is none. `signal` ends the waiting. */
  pull(queue: string, request: PullRequest, signal?: AbortSignal): Promise<PulledMessage[]> {
    return pull(this.#objects, queue, request, signal);
  }

  /** One outcome each, in order. */
  async settle(queue: string, settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
    const { queueId, partitions } = await this.resolve(queue);
    const outcomes: SettleOutcome[] = settlements.map(() => "unknown");
    const indices = Array.from(settlements.keys());
    const byPartition = Map.groupBy(indices, (index) =>
      believed(partitions, parseLease(settlements[index]?.leaseId ?? "")?.partition),
    );
    this.#objects.mayAsk({ partitions: namedBy(byPartition) });
    await Promise.all(
      Array.from(byPartition, async ([partition, own]) => {
        if (partition === null) return;
        const part = own.map((index) => settlements[index] as Settlement);
        const settled = await this.#objects.ask(this.#objects.of(queueId, partition).settle(part));
        own.forEach((index, i) => {
          outcomes[index] = settled[i] ?? "unknown";
        });
      }),
    );
    return outcomes;
  }
}

function placesOf(text: string): Map<string, number> {
  const places = parsePlaces(text);
  if (places === null)
    throw new QueueError(10400, `after must be "${START}", "${END}", or what an earlier peek answered`);
  return places;
}

/** A name in a client's text is believed only when there is such a partition: asking an object would make it. */
function believed(partitions: readonly string[], partition: string | undefined): string | null {
  return partition !== undefined && partitions.includes(partition) ? partition : null;
}

/** The partitions by which something was grouped. */
function namedBy(byPartition: ReadonlyMap<string | null, unknown>): string[] {
  return Array.from(byPartition.keys()).filter((partition) => partition !== null);
}
