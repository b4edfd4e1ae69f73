import type { Engine } from "../engine/engine.ts";

/** A pending timer keeps an object from being evicted for 15 minutes at the most; a new one is set well before. */
const AWAKE_MS = 10 * 60 * 1000;

interface Mark {
  /** Whether the last life held anything when it was last heard of. */
  open: boolean;
  /** Lives that ended while they held something. */
  wipes: number;
}

/**
 * How long an owner lives. While it holds anything it keeps a timer, which serves its deadlines and keeps it in memory;
 * once it holds nothing it may go. A mark in its storage says which of the two it was, so that a start after an unclean
 * end is known and counted.
 */
export class Life {
  readonly startedClean: boolean;
  readonly #storage: DurableObjectStorage;
  readonly #engine: Engine;
  readonly #wake: () => void;
  #mark: Mark;
  #timer: number | null = null;
  #timerAt = Infinity;

  constructor(storage: DurableObjectStorage, name: string, engine: Engine, wake: () => void) {
    this.#storage = storage;
    this.#engine = engine;
    this.#wake = wake;
    const last = storage.kv.get<Mark>("life") ?? { open: false, wipes: 0 };
    this.startedClean = !last.open;
    this.#mark = last.open ? { open: false, wipes: last.wipes + 1 } : last;
    if (!last.open) return;
    console.warn({ event: "wiped", owner: name, wipes: this.#mark.wipes });
    this.#write();
  }

  get wipes(): number {
    return this.#mark.wipes;
  }

  /** Called after every step: sets the timer for the earliest deadline, and the mark when it has changed. */
  settle(): void {
    const holds = this.#engine.queues.size > 0;
    if (holds !== this.#mark.open) {
      this.#mark = { ...this.#mark, open: holds };
      this.#write();
    }
    if (!holds) {
      this.#stop();
      return;
    }
    const now = Date.now();
    const at = Math.min(this.#engine.nextDueAt, now + AWAKE_MS);
    if (this.#timerAt <= at) return;
    this.#stop();
    this.#timerAt = at;
    this.#timer = setTimeout(() => {
      this.#timerAt = Infinity;
      this.#wake();
    }, at - now);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timerAt = Infinity;
  }

  /** Unconfirmed: a reply must not wait for the disk because of a mark. */
  #write(): void {
    void this.#storage.put("life", this.#mark, { allowUnconfirmed: true });
  }
}
