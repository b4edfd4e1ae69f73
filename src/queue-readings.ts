import { CALLS_PER_EVENT, readConfig, type Env } from "./config.ts";
import { WaggleError } from "./contract/errors.ts";
import type { PartitionStatus } from "./objects/queue-protocol.ts";
import type { CountedQueue } from "./objects/queue-records.ts";
import { remoteDeclarations, remoteDurableQueue } from "./objects/remote.ts";

/** What could be learned of a durable queue in one go. */
export interface QueueReading {
  queue: string;
  isPaused: boolean;
  /** Of those partitions that answered. */
  partitions: PartitionStatus[];
  /** Partitions that could not be asked. */
  unreachable: number;
  /** Partitions that nobody asked: an event may make only so many calls. */
  skipped: number;
}

/**
 * How all durable queues are doing: one call to Declarations and one to each partition, as far as the calls of this event
 * last when each owner is asked as well. A partition that cannot be asked does not hide the others.
 */
export async function readQueues(env: Env): Promise<QueueReading[]> {
  const { plan, owners } = readConfig(env);
  const partitions = Math.max(0, CALLS_PER_EVENT[plan] - owners - 1);
  const queues = await counted(env, partitions);
  return Promise.all(queues.map((queue) => readQueue(env, queue)));
}

async function counted(env: Env, maxPartitions: number): Promise<CountedQueue[]> {
  try {
    return await remoteDeclarations(env).census(maxPartitions);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WaggleError("ephemeral_forward_failed", `nobody could say which queues there are: ${reason}`, { cause });
  }
}

async function readQueue(env: Env, { queueId, name, partitions, isPaused, skipped }: CountedQueue) {
  const asked = partitions.map((partition) => remoteDurableQueue(env, queueId, partition).status());
  const answers = await Promise.allSettled(asked);
  const read = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  return { queue: name, isPaused, partitions: read, unreachable: answers.length - read.length, skipped };
}
