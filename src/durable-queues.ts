import { CALLS_PER_EVENT, readConfig, type Env } from "./config.ts";
import { DEFAULT_PARTITION } from "./contract/limits.ts";
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
import { remoteDeclarations, remoteDurableQueue, type Remote } from "./objects/remote.ts";

/** How long a waiting pull waits before it looks for partitions that are new. */
const SLICE_MS = 10_000;
/** Between two tries of a waiting pull when an object cannot be reached. */
const RETRY_MS = 500;
/** Queues whose ids one isolate remembers. */
const MAX_KNOWN = 1000;

export interface PullRequest {
  /** Which of several pull consumers; null = the only one. */
  consumer: string | null;
  limit: number;
  /** null = as the consumer says. */
  visibilityTimeoutMs: number | null;
  waitMs: number;
}

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

type Identity = Pick<ResolvedQueue, "queueId" | "name">;

/** What queues were called when they were last looked up. An object refuses a name that it does not go by any more. */
const identities = new WeakMap<Env["DECLARATIONS"], Map<string, Identity>>();

/** Where rotations over partitions begin; one more for every pull, so that no partition starves another. */
let turn = 0;

/**
 * Durable queues as a whole, for whoever speaks for a client: finds the objects of a queue, asks them, and joins what they
 * answer. A queue is named by its name or its id. Throws `QueueError`s. Made anew for each event: it counts its calls.
 */
export class DurableQueues {
  readonly declarations: Remote<Declarations>;
  readonly #env: Env;
  readonly #known: Map<string, Identity>;
  #callsLeft: number;

  constructor(env: Env) {
    this.#env = env;
    this.declarations = remoteDeclarations(env);
    this.#callsLeft = CALLS_PER_EVENT[readConfig(env).plan];
    let known = identities.get(env.DECLARATIONS);
    if (known === undefined) {
      known = new Map();
      identities.set(env.DECLARATIONS, known);
    }
    this.#known = known;
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
    const ask = ({ queueId, name }: Identity) => this.#ask(act(this.#object(queueId, partition), name));
    const remembered = this.#known.get(queue);
    const identity = remembered ?? (await this.resolve(queue));
    const sent = await ask(identity);
    if (remembered === undefined || !isQueueRefusal(sent) || sent.refused !== 10104) return unwrapQueue(sent);
    // It was renamed or deleted since; nothing was stored.
    return unwrapQueue(await ask(await this.resolve(queue)));
  }

  /** Finds a queue; throws 10104 or 10107. */
  async resolve(queue: string): Promise<ResolvedQueue> {
    this.#known.delete(queue);
    const resolved = unwrapQueue(await this.#ask(this.declarations.resolve(queue)));
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(queue, { queueId: resolved.queueId, name: resolved.name });
    return resolved;
  }

  /** What all partitions hold; with `partly`, as many of them as can still be asked. */
  async backlog(queue: string, { partly = false } = {}): Promise<BacklogDetail> {
    const { queueId, partitions } = await this.resolve(queue);
    const asked = partly ? partitions.slice(0, this.#callsLeft) : partitions;
    const backlogs = await this.#all({ queueId, partitions: asked }, (object) => object.backlog());
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
    const within = this.#callsLeft;
    const asked = partitions.map(async (partition, index) => {
      if (index >= within) throw tooMany(partitions.length, within);
      return this.#ask(this.#object(queueId, partition).status());
    });
    for (const [index, answer] of (await Promise.allSettled(asked)).entries()) {
      if (answer.status === "fulfilled") status.partitions.push(answer.value);
      else status.unreachable.push({ partition: partitions[index] ?? "", error: String(answer.reason) });
    }
    return status;
  }

  /** The oldest messages of all partitions. */
  async peek(queue: string, limit: number): Promise<PeekedMessage[]> {
    const peeked = await this.#all(await this.resolve(queue), (object) => object.peek(limit));
    const messages = peeked.flat().sort((a, b) => a.sentAt - b.sentAt);
    return messages.slice(0, limit);
  }

  /**
   * Messages that became ready after a place, oldest first, and the place after them: what this answered before, `start` or `end`.
   * Throws 10400 for a place that is none.
   */
  async peekAfter(queue: string, limit: number, after: string): Promise<{ messages: PeekedMessage[]; after: string }> {
    const { queueId, partitions } = this.#mayAsk(await this.resolve(queue));
    const from = after === END ? null : placesOf(after);
    // A partition that was not there yet is read from its start.
    const runs = await Promise.all(
      partitions.map((partition) => {
        const place = from === null ? null : (from.get(partition) ?? 0);
        return this.#ask(this.#object(queueId, partition).peekFrom(limit, place));
      }),
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
    const { queueId, partitions } = this.#mayAsk(await this.resolve(queue));
    const ejectId = newQueueId();
    const takenAt = Date.now();
    const begun = partitions.map(async (partition) => {
      const moment = await this.#ask(this.#object(queueId, partition).eject(ejectId));
      return { partition, ...unwrapQueue(moment) };
    });
    return { ejectId, takenAt, partitions: await Promise.all(begun) };
  }

  async ejectPage(queue: string, partition: string, cursor: EjectCursor, maxBytes: number): Promise<EjectedPage> {
    const { queueId, partitions } = await this.resolve(queue);
    if (believed(partitions, partition) === null) throw new QueueError(10400, "the cursor is of another queue");
    return unwrapQueue(await this.#ask(this.#object(queueId, partition).ejectPage(cursor, maxBytes)));
  }

  /** Removes the messages that refs name. Answers those that name nothing. */
  async purgeRefs(queue: string, refs: string[]): Promise<string[]> {
    const { queueId, partitions } = await this.resolve(queue);
    const byPartition = Map.groupBy(refs, (ref) => believed(partitions, parseRef(ref)?.partition));
    this.#mayAsk({ partitions: namedBy(byPartition) });
    const unknown = await Promise.all(
      Array.from(byPartition, ([partition, own]) =>
        partition === null ? own : this.#ask(this.#object(queueId, partition).purgeRefs(own)),
      ),
    );
    return unknown.flat();
  }

  /** Removes everything that the queue holds. */
  async purge(queue: string): Promise<void> {
    this.#mayAsk(await this.resolve(queue), 3);
    const startedAt = unwrapQueue(await this.#ask(this.declarations.startPurge(queue)));
    const resolved = await this.resolve(queue);
    await this.#all(resolved, (object) => object.purge());
    await this.#ask(this.declarations.endPurge(resolved.queueId, startedAt));
  }

  /** Leases messages to a pull client; waits for the first when there is none. `signal` ends the waiting. */
  async pull(queue: string, request: PullRequest, signal?: AbortSignal): Promise<PulledMessage[]> {
    const until = Date.now() + request.waitMs;
    for (;;) {
      const resolved = await this.resolve(queue);
      // Of as many as can be asked what they hold afterwards, too.
      const partitions = rotated(resolved.partitions).slice(0, Math.floor((this.#callsLeft - 1) / 2));
      const { messages, failure } = await this.#pullOnce(resolved.queueId, partitions, request);
      if (messages.length > 0) return messages;
      const leftMs = until - Date.now();
      const isOver = leftMs <= 0 || signal?.aborted === true || this.#callsLeft <= roundOf(partitions);
      if (failure !== null && (isOver || !failure.retryable || failure.code === 10252)) throw failure;
      if (isOver) return [];
      if (failure !== null) await scheduler.wait(Math.min(leftMs, RETRY_MS));
      else await this.#ready(resolved.queueId, partitions, request.consumer, Math.min(leftMs, SLICE_MS));
    }
  }

  /** What was leased before a partition failed counts: nobody else gets it while its lease runs. */
  async #pullOnce(
    queueId: string,
    partitions: readonly string[],
    { consumer, limit, visibilityTimeoutMs }: PullRequest,
  ): Promise<{ messages: PulledMessage[]; failure: QueueError | null }> {
    const messages: PulledMessage[] = [];
    let failure: QueueError | null = null;
    for (const partition of partitions) {
      if (messages.length >= limit) break;
      try {
        const pulled = this.#object(queueId, partition).pull(consumer, limit - messages.length, visibilityTimeoutMs);
        messages.push(...unwrapQueue(await this.#ask(pulled)));
      } catch (error) {
        if (!(error instanceof QueueError)) throw error;
        failure = error;
      }
    }
    return { messages, failure };
  }

  /** Waits until any partition has something, or an object has anything else to say that the next pull will hear. */
  async #ready(queueId: string, partitions: readonly string[], consumer: string | null, waitMs: number): Promise<void> {
    const waits = partitions.map(async (partition) => {
      const isReady = await this.#ask(this.#object(queueId, partition).whenReady(consumer, waitMs));
      if (isReady === false) throw new Error("nothing came");
    });
    await Promise.any(waits).catch(() => {});
  }

  /** One outcome each, in order. */
  async settle(queue: string, settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
    const { queueId, partitions } = await this.resolve(queue);
    const outcomes: SettleOutcome[] = settlements.map(() => "unknown");
    const indices = Array.from(settlements.keys());
    const byPartition = Map.groupBy(indices, (index) =>
      believed(partitions, parseLease(settlements[index]?.leaseId ?? "")?.partition),
    );
    this.#mayAsk({ partitions: namedBy(byPartition) });
    await Promise.all(
      Array.from(byPartition, async ([partition, own]) => {
        if (partition === null) return;
        const part = own.map((index) => settlements[index] as Settlement);
        const settled = await this.#ask(this.#object(queueId, partition).settle(part));
        own.forEach((index, i) => {
          outcomes[index] = settled[i] ?? "unknown";
        });
      }),
    );
    return outcomes;
  }

  /** All or none: what a part of the partitions says is not what was asked for. */
  #all<T>(
    queue: Pick<ResolvedQueue, "queueId" | "partitions">,
    act: (object: DurableQueueMethods) => Promise<T>,
  ): Promise<T[]> {
    const { queueId, partitions } = this.#mayAsk(queue);
    return Promise.all(partitions.map((partition) => this.#ask(act(this.#object(queueId, partition)))));
  }

  /** Refuses what would take more calls than this event has left: one for each partition, and `more`. */
  #mayAsk<Q extends Pick<ResolvedQueue, "partitions">>(queue: Q, more = 0): Q {
    const within = this.#callsLeft - more;
    if (queue.partitions.length > within) throw tooMany(queue.partitions.length, within);
    return queue;
  }

  #object(queueId: string, partition: string): DurableQueueMethods {
    return remoteDurableQueue(this.#env, queueId, partition);
  }

  /** A call that an object could not answer: it is restarting, or being moved. */
  async #ask<T>(call: Promise<T>): Promise<T> {
    this.#callsLeft--;
    try {
      return await call;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new QueueError(15001, `the object that holds this queue could not be asked: ${reason}`);
    }
  }
}

function tooMany(partitions: number, within: number): QueueError {
  return new QueueError(10253, `one request may ask ${within} partitions, not ${partitions}: see the var PLAN`);
}

function placesOf(text: string): Map<string, number> {
  const places = parsePlaces(text);
  if (places === null)
    throw new QueueError(10400, `after must be "${START}", "${END}", or what an earlier peek answered`);
  return places;
}

/** The calls of one more round of a waiting pull, and of looking at the backlog after it. */
function roundOf({ length }: readonly string[]): number {
  return 3 * length + 2;
}

/** A name in a client's text is believed only when there is such a partition: asking an object would make it. */
function believed(partitions: readonly string[], partition: string | undefined): string | null {
  return partition !== undefined && partitions.includes(partition) ? partition : null;
}

/** The partitions by which something was grouped. */
function namedBy(byPartition: ReadonlyMap<string | null, unknown>): string[] {
  return Array.from(byPartition.keys()).filter((partition) => partition !== null);
}

/** Every partition, each time beginning with another. The default one counts before anything was sent to it. */
function rotated(partitions: readonly string[]): string[] {
  const all = partitions.includes(DEFAULT_PARTITION) ? partitions : [DEFAULT_PARTITION, ...partitions];
  const from = turn++ % all.length;
  return [...all.slice(from), ...all.slice(0, from)];
}
