/** After a job that failed in a way that nobody foresaw. */
const REPAIR_MS = 60_000;

/**
 * One alarm for several jobs: an object has only one. A job does as little as it likes when there is nothing to do, and
 * asks itself to be woken again.
 */
export class Alarms {
  readonly #storage: DurableObjectStorage;
  readonly #jobs: Record<string, () => Promise<void>>;

  constructor(storage: DurableObjectStorage, jobs: Record<string, () => Promise<void>>) {
    this.#storage = storage;
    this.#jobs = jobs;
  }

  /**
   * Runs a job at this time, or as soon as can be; null = not at all. A later wish replaces an earlier one. What was
   * written just before, in the same turn, becomes durable together with the wish.
   */
  async wake(job: string, at: number | null): Promise<void> {
    if (at === null) this.#storage.kv.delete(key(job));
    else this.#storage.kv.put(key(job), at);
    await this.#arm();
  }

  /** The alarm has come. A job of which nothing is written down runs, too: it may have been armed by an earlier release. */
  async ring(): Promise<void> {
    const now = Date.now();
    for (const [job, run] of Object.entries(this.#jobs)) {
      const due = this.#due(job);
      if (due !== undefined && due > now) continue;
      this.#storage.kv.delete(key(job));
      try {
        await run();
      } catch (error) {
        // The platform gives up on an alarm that keeps failing, and then the other jobs would wait for ever.
        console.error({ event: "alarm_failed", job, error: String(error) });
        this.#storage.kv.put(key(job), now + REPAIR_MS);
      }
    }
    await this.#arm();
  }

  #due(job: string): number | undefined {
    return this.#storage.kv.get<number>(key(job));
  }

  async #arm(): Promise<void> {
    const due = Object.keys(this.#jobs).flatMap((job) => this.#due(job) ?? []);
    await (due.length === 0 ? this.#storage.deleteAlarm() : this.#storage.setAlarm(Math.min(...due)));
  }
}

function key(job: string): string {
  return `wake:${job}`;
}
