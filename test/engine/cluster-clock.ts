interface Timer {
  at: number;
  run: () => void;
}

/** How many turns of promises lie between two things that the cluster notes, with much to spare. */
const TURNS = 40;

/** A clock that stands still until it is moved, in the place of the runtime's own. */
export class Clock {
  now = 0;
  /** Counts what happens: promises are let go on until nothing does any more. */
  activity = 0;
  readonly #timers = new Map<number, Timer>();
  #next = 1;

  setTimeout(run: () => void, ms = 0): number {
    const id = this.#next++;
    this.#timers.set(id, { at: this.now + Math.max(0, ms), run });
    return id;
  }

  clearTimeout(id: number | undefined): void {
    if (id !== undefined) this.#timers.delete(id);
  }

  /** Lets promises go on, but not to the end. */
  async turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn++) await Promise.resolve();
  }

  /** Lets everything happen that waits for no time to pass. */
  async settle(): Promise<void> {
    let before: number;
    do {
      before = this.activity;
      await this.turns(TURNS);
    } while (this.activity !== before);
  }

  async advance(ms: number): Promise<void> {
    const until = this.now + ms;
    await this.settle();
    for (let due = this.#due(until); due !== null; due = this.#due(until)) {
      const timer = this.#timers.get(due);
      this.#timers.delete(due);
      this.now = Math.max(this.now, timer?.at ?? 0);
      timer?.run();
      await this.settle();
    }
    this.now = until;
  }

  #due(until: number): number | null {
    let first: number | null = null;
    let at = until;
    for (const [id, timer] of this.#timers) {
      if (timer.at > at || (timer.at === at && first !== null)) continue;
      first = id;
      at = timer.at;
    }
    return first;
  }

  /** Runs `work` with this clock as the only one that there is. */
  async rule<T>(work: () => Promise<T>): Promise<T> {
    const { setTimeout, clearTimeout } = globalThis;
    const { now } = Date;
    const { wait } = scheduler;
    Object.assign(globalThis, {
      setTimeout: (run: () => void, ms?: number) => this.setTimeout(run, ms),
      clearTimeout: (id?: number) => this.clearTimeout(id),
    });
    Date.now = () => this.now;
    scheduler.wait = (ms: number) => new Promise<void>((resolve) => this.setTimeout(resolve, ms));
    try {
      return await work();
    } finally {
      Object.assign(globalThis, { setTimeout, clearTimeout });
      Date.now = now;
      scheduler.wait = wait;
    }
  }
}
