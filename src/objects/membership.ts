import type { Membership } from "./protocol.ts";
import type { Owner } from "./owner.ts";
import type { Remote } from "./remote.ts";

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;

interface Epoch extends Record<string, SqlStorageValue> {
  epoch: number;
  owners: number;
  settled: number;
}

/**
 * How many owners there are, change by change. A change opens an epoch, and every owner that there was or is, asleep or
 * not, is called until each says that it holds nothing which belongs elsewhere.
 */
export class MembershipEpochs {
  readonly #storage: DurableObjectStorage;
  readonly #owner: (index: number) => Remote<Owner>;
  readonly #wake: (at: number) => Promise<void>;
  #isSettling = false;

  /** `wake` asks for {@link settle} to be called at a time. */
  constructor(
    storage: DurableObjectStorage,
    owner: (index: number) => Remote<Owner>,
    wake: (at: number) => Promise<void> = (at) => storage.setAlarm(at),
  ) {
    this.#storage = storage;
    this.#owner = owner;
    this.#wake = wake;
  }

  /** An owner has started in a membership of `owners`; another number than the last opens an epoch. */
  report(owners: number): Membership {
    const latest = this.#latest();
    if (latest === undefined) this.#open(0, owners, true);
    else if (latest.owners !== owners) {
      this.#open(latest.epoch + 1, owners, false);
      this.#storage.kv.put("settle_tries", 0);
      void this.#wake(Date.now());
    } else if (latest.settled === 0) void this.#rearm();
    return this.state;
  }

  /** An alarm whose handler has failed too often is called no more: whoever starts sees to it that there is one. */
  async #rearm(): Promise<void> {
    // A handler that runs has no alarm, and sets the next one itself. It has most likely started who reports.
    if (this.#isSettling || (await this.#storage.getAlarm()) !== null) return;
    await this.#wake(Date.now());
  }

  get state(): Membership {
    return { epoch: this.#latest()?.epoch ?? 0, earlier: this.#earlier() };
  }

  #open(epoch: number, owners: number, settled: boolean): void {
    const insert = "INSERT INTO membership_epochs (epoch, owners, settled) VALUES (?, ?, ?)";
    this.#storage.sql.exec(insert, epoch, owners, Number(settled));
  }

  #latest(): Epoch | undefined {
    const select = "SELECT epoch, owners, settled FROM membership_epochs ORDER BY epoch DESC LIMIT 1";
    return this.#storage.sql.exec<Epoch>(select).toArray()[0];
  }

  /** The numbers of owners since everything was last in its place, but for the latest. */
  #earlier(): number[] {
    const latest = this.#latest();
    if (latest === undefined || latest.settled === 1) return [];
    const select = `SELECT DISTINCT owners FROM membership_epochs
      WHERE epoch < ? AND epoch >= (SELECT MAX(epoch) FROM membership_epochs WHERE settled = 1)`;
    return Array.from(this.#storage.sql.exec<{ owners: number }>(select, latest.epoch), ({ owners }) => owners);
  }

  /** Calls everybody once; whoever is not done is called again later. */
  async settle(): Promise<void> {
    this.#isSettling = true;
    try {
      await this.#settle();
    } finally {
      this.#isSettling = false;
    }
  }

  async #settle(): Promise<void> {
    const latest = this.#latest();
    if (latest === undefined || latest.settled === 1) return;
    const { epoch, owners } = latest;
    const everybody = Array.from({ length: Math.max(owners, ...this.#earlier()) }, (_, index) => index);
    const answers = await Promise.allSettled(everybody.map((index) => this.#owner(index).settle(epoch, owners)));
    const isDone = answers.every((answer) => answer.status === "fulfilled" && answer.value);
    if (this.#latest()?.epoch !== epoch) return;
    if (!isDone) {
      await this.#retry(epoch, answers);
      return;
    }
    this.#storage.sql.exec("UPDATE membership_epochs SET settled = 1 WHERE epoch = ?", epoch);
    console.log({ event: "membership_settled", epoch, owners });
    await Promise.allSettled(everybody.slice(0, owners).map((index) => this.#owner(index).epochSettled(epoch)));
  }

  async #retry(epoch: number, answers: PromiseSettledResult<boolean>[]): Promise<void> {
    const tries = this.#storage.kv.get<number>("settle_tries") ?? 0;
    this.#storage.kv.put("settle_tries", tries + 1);
    const left = answers.flatMap((answer, owner) => {
      if (answer.status === "rejected") return [`${owner}: ${String(answer.reason)}`];
      return answer.value ? [] : [String(owner)];
    });
    console.warn({ event: "membership_unsettled", epoch, left });
    await this.#wake(Date.now() + Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** tries));
  }
}
