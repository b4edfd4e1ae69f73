import type { DropCause } from "./context.ts";
import type { QueueOptions } from "../contract/options.ts";
import type { Message } from "./message.ts";
import { itemOf } from "./moments.ts";
import type { Queue } from "./queue.ts";
import type { Ring } from "./ring.ts";
import { clientName, isInTransit } from "./transit.ts";

/** What one owner holds of a queue for one group. */
export interface GroupDepth {
  group: string;
  /** Not yet handed over, or waiting to be handed over again. */
  pending: number;
  /** Evicted before this group was handed it. */
  skipped: number;
}

export interface PartitionDepth {
  partition: string;
  pending: number;
  bytes: number;
}

/** What one owner holds of a queue. */
export interface QueueShare {
  queue: string;
  declared: boolean;
  /** Whether this owner is the queue's home, whose word on tier and options counts. */
  isHome: boolean;
  depth: number;
  bytes: number;
  partitions: number;
  groups: string[];
  drops: Record<DropCause, number>;
  options: QueueOptions;
}

export function shareOf(queue: Queue): QueueShare {
  return {
    queue: clientName(queue.name),
    declared: queue.declared,
    isHome: queue.isHome && !isInTransit(queue.name),
    depth: queue.length,
    bytes: queue.bytes,
    partitions: queue.rings.size,
    groups: [...queue.groups.keys()],
    drops: { ...queue.drops },
    options: queue.options,
  };
}

/** What there is to see of it over time, too. */
export interface WatchedShare extends QueueShare {
  /** Messages accepted since this owner started. */
  pushed: number;
  oldestAt: number | null;
}

export function watchedShareOf(queue: Queue): WatchedShare {
  return { ...shareOf(queue), pushed: queue.pushed, oldestAt: queue.oldestAt };
}

/** A message for somebody who only looks, as JSON text. */
export interface Peeked {
  item: string;
  pushedAt: number;
}

/** The oldest messages of some partitions, as they lie. */
export function peekedOf(rings: Iterable<Ring>, limit: number): Peeked[] {
  const oldest: Message[] = [];
  for (const { messages } of rings) {
    let message = messages.head;
    for (let taken = 0; taken < limit && message !== null; taken++) {
      oldest.push(message);
      message = message.next;
    }
  }
  oldest.sort((a, b) => a.pushedAt - b.pushedAt || a.seq - b.seq);
  return oldest.slice(0, limit).map((message) => ({
    item: itemOf(message, `"groups":${JSON.stringify(groupsOwed(message))}`),
    pushedAt: message.pushedAt,
  }));
}

/** The groups that have not settled a message. */
function groupsOwed({ ring, seq }: Message): string[] {
  return Array.from(ring.cursors.values())
    .filter(
      ({ position, deliveries }) => deliveries.get(seq) !== undefined || (position.message?.seq ?? Infinity) <= seq,
    )
    .map(({ group }) => group.name);
}

export function groupDepths(queue: Queue): GroupDepth[] {
  return Array.from(queue.groups.values(), ({ name, pending, skipped }) => ({ group: name, pending, skipped }));
}

/** Depth by partition as one group sees it; everything held when it is null or not known here. */
export function partitionDepths(queue: Queue, group: string | null): PartitionDepth[] {
  return Array.from(queue.rings.values(), ({ partition, cursors, messages, bytes }) => ({
    partition,
    pending: (group === null ? undefined : cursors.get(group)?.pending) ?? messages.size,
    bytes,
  }));
}
