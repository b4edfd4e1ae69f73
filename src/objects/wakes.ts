/** A deadline this close is waited for awake: a timer is exact and costs nothing while the object is up anyway. */
const AWAKE_MS = 10_000;
/** Unfinished work is taken up again at the latest this long after the object was killed. */
const BACKSTOP_MS = 30_000;

/**
 * Wakes an object at its deadlines: by a timer while it is awake, and by its one alarm. An alarm costs a row, so it is set
 * only when one is needed earlier than the one that is set; one that turns out to be idle is not set again.
 */
export class Wakes {
  readonly #storage: DurableObjectStorage;
  readonly #wake: () => void;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #timerAt = Infinity;
  #alarmAt: number | null = null;
  /** Alarms set since the object was started. */
  alarmsSet = 0;

  constructor(storage: DurableObjectStorage, wake: () => void) {
    this.#storage = storage;
    this.#wake = wake;
  }

  /** Call it before anything else. */
  async load(): Promise<void> {
    this.#alarmAt = await this.#storage.getAlarm();
  }

  get alarmAt(): number | null {
    return this.#alarmAt;
  }

  /** The alarm has gone off. */
  rang(): void {
    this.#alarmAt = null;
  }

  /** Says when something is to be done next (undefined = never), and whether something is being done already. */
  settle(now: number, deadline: number | undefined, isBusy: boolean): void {
    const isSoon = deadline !== undefined && deadline - now <= AWAKE_MS;
    this.#setTimer(now, isSoon ? deadline : Infinity);
    const alarmAt = isBusy || isSoon ? now + BACKSTOP_MS : deadline;
    if (alarmAt === undefined || (this.#alarmAt !== null && this.#alarmAt <= alarmAt)) return;
    this.#alarmAt = alarmAt;
    this.alarmsSet++;
    void this.#storage.setAlarm(alarmAt);
  }

  #setTimer(now: number, at: number): void {
    if (at === this.#timerAt) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#timerAt = at;
    if (at === Infinity) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#timerAt = Infinity;
        this.#wake();
      },
      Math.max(0, at - now),
    );
  }

  /** Nothing is to be done any more. */
  stop(): void {
    this.#setTimer(0, Infinity);
  }
}
