import type { Env } from "../../src/config.ts";
import type { DeclaredOptions } from "../../src/contract/options.ts";
import { MembershipEpochs } from "../../src/objects/membership.ts";
import type { Joined, Membership } from "../../src/objects/protocol.ts";
import { remoteOwner } from "../../src/objects/remote.ts";
import { Placement } from "../../src/placement.ts";
import type { Clock } from "./cluster-clock.ts";
import { Life } from "./cluster-life.ts";

interface Epoch {
  epoch: number;
  owners: number;
  settled: number;
}

/** What Declarations has stored, confirmed before it answers. */
export class DeclarationsDisk {
  readonly queues = new Map<string, DeclaredOptions>();
  epochs: Epoch[] = [];
  tries = 0;
  alarmAt: number | null = null;
  alarmRuns = false;
}

/** The object that knows all owners, with the real bookkeeping of epochs over a table that answers its four statements. */
export class Declarations extends Life {
  readonly #disk: DeclarationsDisk;
  readonly #clock: Clock;
  readonly #membership: MembershipEpochs;
  #isSettling = false;

  constructor(disk: DeclarationsDisk, clock: Clock, env: (caller: Life) => Env) {
    super();
    this.#disk = disk;
    this.#clock = clock;
    const own = env(this);
    this.#membership = new MembershipEpochs(this.#storage, (index) => remoteOwner(own, index));
  }

  get #storage(): DurableObjectStorage {
    const disk = this.#disk;
    const exec = (statement: string, ...args: number[]) => {
      const rows = this.#exec(statement, args);
      return { toArray: () => rows, [Symbol.iterator]: () => rows[Symbol.iterator]() };
    };
    const storage = {
      sql: { exec },
      kv: {
        get: () => disk.tries,
        put: (_: string, tries: number) => {
          disk.tries = tries;
        },
      },
      getAlarm: async () => disk.alarmAt,
      setAlarm: async (at: number) => this.arm(at),
    };
    return storage as unknown as DurableObjectStorage;
  }

  #exec(statement: string, [first = 0, owners = 0, settled = 0]: number[]): Epoch[] {
    const { epochs } = this.#disk;
    if (statement.startsWith("INSERT")) {
      epochs.push({ epoch: first, owners, settled });
      return [];
    }
    if (statement.startsWith("UPDATE")) {
      for (const epoch of epochs) if (epoch.epoch === first) epoch.settled = 1;
      return [];
    }
    if (statement.startsWith("SELECT DISTINCT owners")) {
      const from = Math.max(...epochs.filter((epoch) => epoch.settled === 1).map(({ epoch }) => epoch));
      const between = epochs.filter(({ epoch }) => epoch < first && epoch >= from);
      return [...new Map(between.map((epoch) => [epoch.owners, epoch])).values()];
    }
    if (!statement.includes("ORDER BY epoch DESC")) throw new Error(`what is ${statement}?`);
    return epochs.slice(-1);
  }

  arm(at: number): void {
    this.#disk.alarmAt = at;
    this.#clock.setTimeout(() => void this.#fire(), at - this.#clock.now);
  }

  /** One alarm at a time; one that comes due meanwhile waits. */
  async #fire(): Promise<void> {
    const disk = this.#disk;
    while (!this.isOver && !this.#isSettling && disk.alarmAt !== null && disk.alarmAt <= this.#clock.now) {
      disk.alarmAt = null;
      disk.alarmRuns = true;
      this.#isSettling = true;
      await this.#membership.settle();
      this.#isSettling = false;
      if (!this.isOver) disk.alarmRuns = false;
    }
  }

  join(owner: number, owners: number): Joined {
    const placement = new Placement(owners);
    const homed = [...this.#disk.queues].filter(([queue]) => placement.home(queue) === owner);
    const declarations = homed.map(([queue, options]) => ({ queue, options }));
    return { declarations, membership: this.#membership.report(owners) };
  }

  membership(): Membership {
    return this.#membership.state;
  }

  declareEphemeral(queue: string, options: DeclaredOptions): void {
    this.#disk.queues.set(queue, options);
  }

  removeEphemeral(queue: string): boolean {
    return this.#disk.queues.delete(queue);
  }
}
