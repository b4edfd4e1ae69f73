import { COST } from "../../src/engine/context.ts";
import type { Cursor } from "../../src/engine/cursor.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { Queue } from "../../src/engine/queue.ts";
import type { RestingRing } from "../../src/engine/resting.ts";
import type { Ring } from "../../src/engine/ring.ts";
import { isHeld } from "../../src/engine/snapshot.ts";
import { messagesOf, type StoredMessage } from "../../src/engine/stored.ts";

/** What an engine holds, in a form that is the same before and after a restart. To look at a partition does not wake it. */

/** What a group is still to be handed of a partition, leases included: payloads, and the numbers of the next deliveries. */
export type Owed = [payload: string, attempts: number][];

export function owed({ deliveries, position }: Cursor): Owed {
  const again = [...deliveries.values()].sort((a, b) => a.message.seq - b.message.seq);
  const list = again.map(({ message, attempts }): Owed[number] => [message.payload, attempts + 1]);
  for (let message = position.message; message !== null; message = message.next) list.push([message.payload, 1]);
  return list;
}

interface DescribedMessage {
  payload: string;
  pushedAt: number;
  bytes: number;
  width: number;
}

interface DescribedRing {
  partition: string;
  touchedAt: number;
  bytes: number;
  messages: DescribedMessage[];
  cursors: Record<string, { owed: Owed; skipped: number; lastPopAt: number }>;
}

function describeMessage({ payload, pushedAt, bytes, width }: DescribedMessage): DescribedMessage {
  return { payload, pushedAt, bytes, width };
}

function describeRing({ partition, touchedAt, bytes, messages, cursors }: Ring): DescribedRing {
  return {
    partition,
    touchedAt,
    bytes,
    messages: Array.from(messages, describeMessage),
    cursors: byKey(cursors, (cursor) => ({
      owed: owed(cursor),
      skipped: cursor.skippedTotal,
      lastPopAt: cursor.lastPopAt,
    })),
  };
}

export function heldAtRest({ state, parts }: RestingRing): StoredMessage[] {
  return [...messagesOf(parts)].filter(({ seq }) => isHeld(state)(seq));
}

function describeResting(ring: RestingRing): DescribedRing {
  const { partition, touchedAt, cursors } = ring.state;
  const messages = heldAtRest(ring);
  const payloads = new Map(messages.map(({ seq, payload }) => [seq, payload]));
  const named = new Map(cursors.map((cursor) => [cursor.group, cursor]));
  return {
    partition,
    touchedAt,
    bytes: ring.bytes,
    messages: messages.map(describeMessage),
    cursors: byKey(named, ({ next, seqs, attempts, skipped, lastPopAt }) => {
      const again = seqs.flatMap((seq, i): [number, Owed[number]][] => {
        const payload = payloads.get(seq);
        return payload === undefined ? [] : [[seq, [payload, (attempts[i] ?? 0) + 1]]];
      });
      const back = again.sort(([a], [b]) => a - b).map(([, one]) => one);
      const fresh = messages.filter(({ seq }) => next !== null && seq >= next);
      const list: Owed = [...back, ...fresh.map(({ payload }): Owed[number] => [payload, 1])];
      return { owed: list, skipped, lastPopAt };
    }),
  };
}

function ringsOf({ rings }: Queue): Map<string, DescribedRing> {
  const all = [...Array.from(rings.awake, describeRing), ...Array.from(rings.resting, describeResting)];
  return new Map(all.map((ring) => [ring.partition, ring]));
}

function kept({ queues }: Engine): Map<string, Queue> {
  return new Map([...queues].filter(([, queue]) => queue.isKept));
}

/** Everything that a restart must bring back. */
export function describe(engine: Engine) {
  return {
    counters: structuredClone(engine.counters),
    keys: Object.fromEntries(
      engine.recentKeys
        .flatMap(({ queue, partition, keys, at, pushed }) =>
          keys.map(
            (key, i) => [JSON.stringify([queue, partition, key]), { key, at: at[i], pushed: pushed[i] }] as const,
          ),
        )
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
    queues: byKey(kept(engine), (queue) => {
      const rings = ringsOf(queue);
      return {
        declared: queue.declared,
        options: structuredClone(queue.options),
        drops: { ...queue.drops },
        length: queue.length,
        bytes: queue.bytes,
        groups: byKey(queue.groups, ({ name, skippedBefore, cursors }) => {
          const skipped = [...rings.values()].reduce((sum, ring) => sum + (ring.cursors[name]?.skipped ?? 0), 0);
          return { skipped: skippedBefore + skipped, cursors };
        }),
        rings: byKey(rings, ({ bytes, messages, cursors }) => {
          const positions = new Map(Object.entries(cursors));
          return { bytes, messages, cursors: byKey(positions, ({ owed: list, skipped }) => ({ owed: list, skipped })) };
        }),
      };
    }),
  };
}

export type Described = ReturnType<typeof describe>;

/** When everybody was seen last: exact after a clean end only. */
export function times(engine: Engine) {
  return byKey(kept(engine), (queue) => ({
    touchedAt: queue.touchedAt,
    groups: byKey(queue.groups, ({ lastPopAt, lastSeenAt }) => ({ lastPopAt, lastSeenAt })),
    rings: byKey(ringsOf(queue), ({ touchedAt, cursors }) => ({
      touchedAt,
      cursors: byKey(new Map(Object.entries(cursors)), ({ lastPopAt }) => lastPopAt),
    })),
  }));
}

function byKey<T, R>(map: ReadonlyMap<string, T>, look: (value: T) => R): Record<string, R> {
  const keys = [...map.keys()].sort();
  return Object.fromEntries(keys.map((key) => [key, look(map.get(key) as T)]));
}

export function memoryOf({ queues, keys }: Described): number {
  let bytes = 0;
  for (const { key } of Object.values(keys)) bytes += COST.key + 2 * key.length;
  for (const { groups, rings } of Object.values(queues)) {
    bytes += COST.queue + COST.group * Object.keys(groups).length;
    for (const { messages, cursors } of Object.values(rings)) {
      bytes += COST.ring + COST.cursor * Object.keys(cursors).length;
      for (const { width } of messages) bytes += width + COST.message;
    }
  }
  return bytes;
}
