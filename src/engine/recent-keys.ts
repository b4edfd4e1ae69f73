import { KEY_MEMORY_MS, MAX_KEYS_PER_OWNER, MAX_KEYS_PER_PARTITION, MAX_WRITTEN_KEYS } from "../contract/limits.ts";
import { COST, type EngineContext } from "./context.ts";
import { List } from "./list.ts";

/** The keys of one partition, by column, as they are written and handed over. */
export interface KeysState {
  queue: string;
  partition: string;
  keys: string[];
  /** When the push came. */
  at: number[];
  /** How many messages it stored. */
  pushed: number[];
}

interface RecentKey {
  prev: RecentKey | null;
  next: RecentKey | null;
  queue: string;
  partition: string;
  key: string;
  at: number;
  pushed: number;
}

/**
 * The idempotency keys of the last minute's pushes: a push that is sent again because its answer was lost is told by
 * its key, and stores nothing. Keys stand beside the queues and not in them, so that they outlive a reset, a deletion
 * and the collection of an inbox: what was pushed before it must not come back behind it.
 *
 * They are written whenever something else is, and never on their own account: a push whose messages are consumed as
 * they come goes on costing no row. Beyond the bounds the oldest key is forgotten first.
 */
export class RecentKeys {
  readonly #context: EngineContext;
  readonly #places = new Map<string, Map<string, RecentKey>>();
  /** By when they came. */
  readonly #all = new List<RecentKey>();

  constructor(context: EngineContext) {
    this.#context = context;
  }

  /** How many messages an earlier push with this key stored; null = there is no such push. */
  pushedWith(queue: string, partition: string, key: string): number | null {
    const known = this.#places.get(placeOf(queue, partition))?.get(key);
    return known === undefined || this.#isOld(known) ? null : known.pushed;
  }

  remember(queue: string, partition: string, key: string, pushed: number, at = this.#context.now): void {
    const place = placeOf(queue, partition);
    let keys = this.#places.get(place);
    const known = keys?.get(key);
    if (known !== undefined) this.#forget(known);
    const [oldest] = keys?.values() ?? [];
    if (oldest !== undefined && (keys?.size ?? 0) >= MAX_KEYS_PER_PARTITION) this.#forget(oldest);
    if (this.#all.size >= MAX_KEYS_PER_OWNER && this.#all.head !== null) this.#forget(this.#all.head);
    // The last key of a partition takes its place along.
    keys = this.#places.get(place);
    if (keys === undefined) {
      keys = new Map();
      this.#places.set(place, keys);
    }
    const recent: RecentKey = { prev: null, next: null, queue, partition, key, at, pushed };
    keys.set(key, recent);
    this.#all.append(recent);
    this.#context.memoryBytes += costOfKey(key);
  }

  /** Forgets what is too old. Called whenever the clock moves: nothing wakes an owner for it. */
  expire(): void {
    for (let head = this.#all.head; head !== null && this.#isOld(head); head = this.#all.head) this.#forget(head);
  }

  #isOld({ at }: RecentKey): boolean {
    return at + KEY_MEMORY_MS <= this.#context.now;
  }

  #forget(recent: RecentKey): void {
    const place = placeOf(recent.queue, recent.partition);
    const keys = this.#places.get(place);
    keys?.delete(recent.key);
    if (keys?.size === 0) this.#places.delete(place);
    this.#all.remove(recent);
    this.#context.memoryBytes -= costOfKey(recent.key);
  }

  /** What is written of them: the youngest, as a checkpoint has to stay small however many pushes there are. */
  states(): KeysState[] {
    const states = new Map<string, KeysState>();
    let skipped = this.#all.size - MAX_WRITTEN_KEYS;
    for (const recent of this.#all) {
      if (skipped-- > 0) continue;
      const { queue, partition } = recent;
      const place = placeOf(queue, partition);
      const state = states.get(place) ?? { queue, partition, keys: [], at: [], pushed: [] };
      states.set(place, state);
      state.keys.push(recent.key);
      state.at.push(recent.at);
      state.pushed.push(recent.pushed);
    }
    return [...states.values()];
  }

  /** The keys of one partition, which go along when it moves. */
  stateOf(queue: string, partition: string): KeysState {
    const recent = [...(this.#places.get(placeOf(queue, partition))?.values() ?? [])];
    return {
      queue,
      partition,
      keys: recent.map(({ key }) => key),
      at: recent.map(({ at }) => at),
      pushed: recent.map(({ pushed }) => pushed),
    };
  }

  /** Takes keys up from an earlier life or from another owner. What is known here already stays as it is. */
  restore(states: readonly KeysState[]): void {
    const all = states.flatMap(({ queue, partition, keys, at, pushed }) =>
      keys.map((key, i) => ({ queue, partition, key, at: at[i] ?? 0, pushed: pushed[i] ?? 0 })),
    );
    all.sort((a, b) => a.at - b.at);
    for (const { queue, partition, key, at, pushed } of all) {
      if (this.#places.get(placeOf(queue, partition))?.has(key)) continue;
      this.remember(queue, partition, key, pushed, at);
    }
  }
}

export function costOfKey(key: string): number {
  return COST.key + key.length * 2;
}

function placeOf(queue: string, partition: string): string {
  return `${queue}\u0000${partition}`;
}
