import type { Engine } from "../engine/engine.ts";
import type { Journal, LastLife } from "./journal.ts";

/** A pending timer keeps an object from being evicted for 15 minutes at the most; a new one is set well before. */
const AWAKE_MS = 10 * 60 * 1000;
/** After this long with nothing to do an owner lets itself be evicted. */
const QUIET_MS = 5000;
/** While an owner might lose something, an alarm brings it back at the latest this long after a crash. */
const BACKSTOP_MS = 5 * 60 * 1000;
/** How long an owner that has come back from a crash waits with its first write, so that the first request does not. */
const FIRST_WRITE_MS = 200;
/** After an alarm that failed. */
const ALARM_RETRY_MS = 10_000;

/**
 * How long an owner lives. While it has work it keeps a timer, which serves its deadlines, writes its checkpoints and
 * keeps it in memory. Once everything is written, nothing is leased and nobody is parked, it goes to sleep: no timer, one
 * alarm at the earliest deadline, and its contents on the disk. `checkpointMs = 0` keeps everything in memory only, and
 * so keeps the owner awake for as long as it holds anything.
 */
export class Life {
  readonly lastLife: LastLife;
  /** Since this owner started: each is a row written. */
  alarmsSet = 0;
  readonly #storage: DurableObjectStorage;
  readonly #engine: Engine;
  readonly #journal: Journal;
  readonly #wake: () => void;
  /** How old a change may get before it is written; the write itself takes a moment, too. */
  readonly #leadMs: number;
  #timer: number | null = null;
  #timerAt = Infinity;
  /** When to look whether something has to be written. */
  #lookAt = Infinity;
  #sleepAt = Infinity;
  #backstopAt = 0;
  #opening: Promise<void> = Promise.resolve();
  /** Changes of the alarm, one after the other: each looks first at what is armed. */
  #alarming: Promise<void> = Promise.resolve();

  constructor(
    storage: DurableObjectStorage,
    engine: Engine,
    journal: Journal,
    { name, checkpointMs, wake }: { name: string; checkpointMs: number; wake: () => void },
  ) {
    this.#storage = storage;
    this.#engine = engine;
    this.#journal = journal;
    this.#wake = wake;
    this.#leadMs = checkpointMs * 0.8;
    const now = Date.now();
    this.lastLife = journal.restore(now);
    // What an earlier life wrote is taken over once; nobody would keep it up to date from here on.
    if (checkpointMs === 0) journal.discard();
    if (!this.lastLife.wasOpen) return;
    const { lastCheckpointAt } = this.lastLife;
    // How many messages were younger than that is not known, and not invented.
    console.warn({ event: "wiped", owner: name, lastCheckpointAt: new Date(lastCheckpointAt ?? 0).toISOString() });
    // The wipe itself must outlive the next one. A write is long after a crash, with a large backlog: not before an answer.
    if (checkpointMs > 0) {
      engine.ledger.change(now - this.#leadMs);
      this.#lookAt = now + FIRST_WRITE_MS;
    }
  }

  get #journals(): boolean {
    return this.#leadMs > 0;
  }

  /** Called after every step that a request made. */
  settle(): void {
    const now = Date.now();
    this.#sleepAt = now + QUIET_MS;
    this.#plan(now);
  }

  /** Called when a timer or an alarm has moved the clock of the engine. */
  tick(): void {
    const now = Date.now();
    if (now >= this.#lookAt) this.#look(now);
    if (now >= this.#sleepAt && this.#isIdle) this.#sleep(now);
    else this.#plan(now);
  }

  /**
   * Makes what has just been dropped or declared durable before that is answered: a checkpoint would bring back what was. Everything else
   * may be undone by a crash as far as its last window goes.
   */
  async flush(): Promise<void> {
    if (!this.#journals) return;
    if (!this.#engine.ledger.isClean) this.#write(Date.now(), true);
    // Even then: a checkpoint that has just been written may still be on its way.
    await this.#storage.sync();
  }

  /**
   * Waits until the disk knows that this owner is awake. A life that ends before that looks as if it had not been, and the
   * next one would not know that there is somebody whom it has to ask.
   */
  async opened(): Promise<void> {
    await this.#opening;
  }

  get #isIdle(): boolean {
    if (!this.#journals) return this.#engine.queues.size === 0;
    return this.#engine.isQuiet && this.#engine.ledger.isClean;
  }

  #look(now: number): void {
    const oldestAt = this.#engine.ledger.oldestAt;
    this.#lookAt = oldestAt + this.#leadMs;
    if (now >= this.#lookAt) this.#write(now, true);
  }

  #write(now: number, open: boolean): void {
    const opens = open && !this.#journal.isOpen;
    this.#journal.write(now, open);
    if (opens) this.#opening = this.#storage.sync();
    this.#lookAt = Infinity;
    if (open && now >= this.#backstopAt) {
      this.#backstopAt = now + BACKSTOP_MS;
      const at = this.#backstopAt;
      this.#alarming = this.#alarming.then(() => this.#armAlarm(at));
    }
  }

  /** Sets the timer for whatever comes first. */
  #plan(now: number): void {
    const { ledger, nextDueAt } = this.#engine;
    if (this.#journals) {
      if (ledger.isUrgent && !this.#journal.isOpen) this.#write(now, true);
      if (this.#lookAt === Infinity && !ledger.isClean) this.#lookAt = now + this.#leadMs;
    }
    const sleepAt = this.#isIdle ? this.#sleepAt : Infinity;
    const at = Math.min(nextDueAt, this.#lookAt, sleepAt, now + AWAKE_MS);
    if (this.#timerAt <= at) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(
      () => {
        this.#timerAt = Infinity;
        this.#wake();
      },
      Math.max(0, at - now),
    );
  }

  #sleep(now: number): void {
    if (this.#journals && this.#journal.hasNews) this.#write(now, false);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#timerAt = Infinity;
    this.#backstopAt = 0;
    const { nextDueAt, keepsAnything } = this.#engine;
    if (!this.#journals) return;
    const at = keepsAnything ? nextDueAt : Infinity;
    this.#alarming = this.#alarming.then(() => this.#moveAlarm(at));
  }

  /** An alarm that nothing is due at any more would cost a whole wake: moving it is far cheaper. */
  async #moveAlarm(at: number): Promise<void> {
    const armed = await this.#storage.getAlarm();
    if ((armed ?? Infinity) === at) return;
    if (at === Infinity) await this.#storage.deleteAlarm({ allowUnconfirmed: true });
    else await this.#setAlarm(at);
  }

  /** A row each: an alarm is armed only where none is, or where it is earlier than the one that is. */
  async #armAlarm(at: number): Promise<void> {
    const armed = await this.#storage.getAlarm();
    // A past alarm counts as missing: it has been given up, or is running now.
    if (armed !== null && armed <= at && armed > Date.now()) return;
    await this.#setAlarm(at);
  }

  async #setAlarm(at: number): Promise<void> {
    this.alarmsSet++;
    await this.#storage.setAlarm(Math.max(at, Date.now() + 1), { allowUnconfirmed: true });
  }

  /** The alarm's handler must never throw: after a few failures it would not be called again. */
  async alarm(load: () => Promise<void>): Promise<void> {
    try {
      this.#backstopAt = 0;
      this.#wake();
      await load();
      if (this.#journals && this.#journal.isOpen && this.#backstopAt === 0) {
        this.#backstopAt = Date.now() + BACKSTOP_MS;
        await this.#armAlarm(this.#backstopAt);
      }
    } catch (error) {
      console.error(error);
      await this.#storage.setAlarm(Date.now() + ALARM_RETRY_MS);
    }
  }
}
