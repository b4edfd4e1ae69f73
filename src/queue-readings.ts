import { CALLS_PER_EVENT, readConfig, type Config, type Env } from "./config.ts";
import { WaggleError } from "./contract/errors.ts";
import type { PartitionStatus } from "./objects/queue-protocol.ts";
import type { ConsumerSummary, CountedQueue } from "./objects/queue-records.ts";
import { remoteDeclarations, remoteDurableQueue } from "./objects/remote.ts";

/** What could be learned of a durable queue in one go. */
export interface QueueReading {
  queue: string;
  queueId: string;
  isPaused: boolean;
  consumers: ConsumerSummary[];
  /** Of those partitions that answered. */
  partitions: PartitionStatus[];
  /** Partitions that could not be asked. */
  unreachable: number;
  /** Partitions that nobody asked: an event may make only so many calls. */
  skipped: number;
}

/**
 * How all durable queues are doing: one call to Declarations and one to each partition, as far as `calls` last when each
 * owner is asked as well. A partition that cannot be asked does not hide the others.
 */
export async function readQueues(env: Env, calls = CALLS_PER_EVENT[readConfig(env).plan]): Promise<QueueReading[]> {
  const partitions = Math.max(0, calls - callsOfScan(readConfig(env)));
  const queues = await counted(env, partitions);
  return Promise.all(queues.map((queue) => readQueue(env, queue)));
}

/** The calls that it takes to ask for everything but partitions. */
export function callsOfScan({ owners }: Config): number {
  return owners + 1;
}

async function counted(env: Env, maxPartitions: number): Promise<CountedQueue[]> {
  try {
    return await remoteDeclarations(env).census(maxPartitions);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WaggleError("ephemeral_forward_failed", `nobody could say which queues there are: ${reason}`, { cause });
  }
}

async function readQueue(env: Env, queue: CountedQueue): Promise<QueueReading> {
  const { queueId, name, partitions, isPaused, consumers, skipped } = queue;
  const asked = partitions.map((partition) => remoteDurableQueue(env, queueId, partition).status());
  const answers = await Promise.allSettled(asked);
  const read = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  const unreachable = answers.length - read.length;
  return { queue: name, queueId, isPaused, consumers, partitions: read, unreachable, skipped };
}
