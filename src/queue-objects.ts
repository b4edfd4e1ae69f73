import { CALLS_PER_EVENT, readConfig, type Env } from "./config.ts";
import { QueueError, unwrapQueue } from "./contract/queue-errors.ts";
import type { Declarations } from "./objects/declarations.ts";
import type { DurableQueueMethods } from "./objects/queue-protocol.ts";
import type { ResolvedQueue } from "./objects/queue-records.ts";
import { remoteDeclarations, remoteDurableQueue, type Remote } from "./objects/remote.ts";

/** Queues whose ids one isolate remembers. */
const MAX_KNOWN = 1000;

export type Identity = Pick<ResolvedQueue, "queueId" | "name">;
type Partitioned = Pick<ResolvedQueue, "queueId" | "partitions">;

/** What queues were called when they were last looked up. An object refuses a name that it does not go by any more. */
const identities = new WeakMap<Env["DECLARATIONS"], Map<string, Identity>>();

/** The objects of durable queues, and how many calls to them an event may still make: made anew for each event. */
export class QueueObjects {
  readonly declarations: Remote<Declarations>;
  callsLeft: number;
  readonly #env: Env;
  readonly #known: Map<string, Identity>;

  constructor(env: Env) {
    this.#env = env;
    this.declarations = remoteDeclarations(env);
    this.callsLeft = CALLS_PER_EVENT[readConfig(env).plan];
    let known = identities.get(env.DECLARATIONS);
    if (known === undefined) {
      known = new Map();
      identities.set(env.DECLARATIONS, known);
    }
    this.#known = known;
  }

  /** Finds a queue; throws 10104 or 10107. */
  async resolve(queue: string): Promise<ResolvedQueue> {
    this.#known.delete(queue);
    const resolved = unwrapQueue(await this.ask(this.declarations.resolve(queue)));
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(queue, { queueId: resolved.queueId, name: resolved.name });
    return resolved;
  }

  /** What a queue went by when it was last looked up. */
  remembered(queue: string): Identity | undefined {
    return this.#known.get(queue);
  }

  of(queueId: string, partition: string): DurableQueueMethods {
    return remoteDurableQueue(this.#env, queueId, partition);
  }

  /** Makes a call. Throws 15001 where an object could not answer: it is restarting, or being moved. */
  async ask<T>(call: Promise<T>): Promise<T> {
    this.callsLeft--;
    try {
      return await call;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new QueueError(15001, `the object that holds this queue could not be asked: ${reason}`);
    }
  }

  /** Asks all partitions or none: what a part of them says is not what was asked for. */
  all<T>(queue: Partitioned, act: (object: DurableQueueMethods, partition: string) => Promise<T>): Promise<T[]> {
    const { queueId, partitions } = this.mayAsk(queue);
    return Promise.all(partitions.map((partition) => this.ask(act(this.of(queueId, partition), partition))));
  }

  /** Throws 10253 for what would take more calls than this event has left: one for each partition, and `more`. */
  mayAsk<Q extends Pick<ResolvedQueue, "partitions">>(queue: Q, more = 0): Q {
    const within = this.callsLeft - more;
    if (queue.partitions.length > within) throw tooMany(queue.partitions.length, within);
    return queue;
  }
}

export function tooMany(partitions: number, within: number): QueueError {
  return new QueueError(10253, `one request may ask ${within} partitions, not ${partitions}: see the var PLAN`);
}
