import type { Clock } from "./cluster-clock.ts";
import { copyOf } from "./plain.ts";

type Rows = Map<string, unknown>;
type Change = (rows: Rows) => void;

/** How long writes that nobody waits for take to reach the disk. */
const WRITE_MS = 20;

/**
 * What an owner has on its disk. It outlives the owner's lives; what the last turns wrote may not: the writes of one
 * turn become durable together, and in order.
 */
export class Disk {
  readonly #clock: Clock;
  #durable: Rows = new Map();
  /** What each turn that is not durable yet has written. */
  #turns: Change[][] = [];
  #turn: Change[] | null = null;
  alarmAt: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What an owner's life is given of it. Once that life is over nothing that it does has an effect. */
  storage(isOver: () => boolean): DurableObjectStorage {
    const never = new Promise<never>(() => {});
    const guarded =
      <Args extends unknown[], T>(act: (...args: Args) => T) =>
      async (...args: Args): Promise<T> =>
        isOver() ? never : act(...args);
    const storage = {
      kv: { list: ({ prefix }: { prefix: string }) => this.#list(prefix) },
      put: guarded((entries: Record<string, unknown>) => {
        const copy = copyOf(entries);
        this.#write((rows) => Object.entries(copy).forEach(([key, row]) => rows.set(key, row)));
      }),
      delete: guarded((keys: string[]) => this.#write((rows) => keys.forEach((key) => rows.delete(key)))),
      sync: guarded(() => this.sync()),
      getAlarm: guarded(() => this.alarmAt),
      setAlarm: guarded((at: number) => {
        this.alarmAt = at;
      }),
      deleteAlarm: guarded(() => {
        this.alarmAt = null;
      }),
    };
    return storage as unknown as DurableObjectStorage;
  }

  #write(change: Change): void {
    if (this.#turn !== null) {
      this.#turn.push(change);
      return;
    }
    const turn = [change];
    this.#turn = turn;
    this.#turns.push(turn);
    queueMicrotask(() => {
      if (this.#turn === turn) this.#turn = null;
    });
    this.#clock.setTimeout(() => this.#persist(this.#turns.indexOf(turn) + 1), WRITE_MS);
  }

  #persist(turns: number): void {
    this.#turn = null;
    for (const change of this.#turns.splice(0, turns).flat()) change(this.#durable);
  }

  sync(): void {
    this.#persist(this.#turns.length);
  }

  /** A life has ended: the first few of its last turns have made it. */
  crash(survivors: number): void {
    this.#persist(Math.min(survivors, this.#turns.length));
    this.#turns = [];
  }

  *#list(prefix: string): Generator<[string, unknown]> {
    for (const key of [...this.#durable.keys()].sort()) {
      if (key.startsWith(prefix)) yield [key, copyOf(this.#durable.get(key))];
    }
  }
}
