import type { Env } from "../config.ts";
import { ownerName } from "../placement.ts";
import type { Declarations } from "./declarations.ts";
import type { Owner } from "./owner.ts";
import { queueObjectName, type DurableQueueMethods } from "./queue-protocol.ts";

/**
 * An object as its callers see it. Everything that these objects take and answer is plain data, so the stub's own types,
 * which allow for stubs inside of results, come down to a promise of the same.
 */
export type Remote<T> = {
  [K in keyof T as T[K] extends (...args: never[]) => unknown ? K : never]: T[K] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/** The ids of owners, which are hashes of their names: worth keeping, where a stub belongs to one request. */
const ids = new WeakMap<Env["OWNER"], DurableObjectId[]>();

export function remoteOwner({ OWNER }: Env, index: number): Remote<Owner> {
  let known = ids.get(OWNER);
  if (known === undefined) {
    known = [];
    ids.set(OWNER, known);
  }
  const id = (known[index] ??= OWNER.idFromName(ownerName(index)));
  return OWNER.get(id) as unknown as Remote<Owner>;
}

/** The ids of queues' objects by name, as far as there is room for them: senders name partitions as they like. */
const MAX_QUEUE_IDS = 10_000;
const queueIds = new WeakMap<Env["DURABLE_QUEUE"], Map<string, DurableObjectId>>();

export function remoteDurableQueue({ DURABLE_QUEUE }: Env, queueId: string, partition: string): DurableQueueMethods {
  let known = queueIds.get(DURABLE_QUEUE);
  if (known === undefined || known.size >= MAX_QUEUE_IDS) {
    known = new Map();
    queueIds.set(DURABLE_QUEUE, known);
  }
  const name = queueObjectName(queueId, partition);
  let id = known.get(name);
  if (id === undefined) {
    id = DURABLE_QUEUE.idFromName(name);
    known.set(name, id);
  }
  return DURABLE_QUEUE.get(id) as unknown as DurableQueueMethods;
}

export function remoteDeclarations(env: Env): Remote<Declarations> {
  return env.DECLARATIONS.getByName("declarations") as unknown as Remote<Declarations>;
}
