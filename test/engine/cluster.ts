import { Broker } from "../../src/broker.ts";
import type { Env } from "../../src/config.ts";
import type { RestingRing } from "../../src/engine/resting.ts";
import type { Ring } from "../../src/engine/ring.ts";
import { clientName } from "../../src/engine/transit.ts";
import { remoteOwner } from "../../src/objects/remote.ts";
import { ownerName, Placement } from "../../src/placement.ts";
import { Clock } from "./cluster-clock.ts";
import { Declarations, DeclarationsDisk } from "./cluster-declarations.ts";
import { Disk } from "./cluster-disk.ts";
import { Dice, Life } from "./cluster-life.ts";
import { OwnerLife } from "./cluster-owner.ts";
import { heldAtRest } from "./described.ts";
import { copyOf } from "./plain.ts";

type Methods = Record<string, (...args: unknown[]) => unknown>;

/** Sees what an object answered, whether or not the caller does. */
export type Witness = (owner: OwnerLife, method: string, args: unknown[], result: unknown) => void;

/** Owners that change in number, crash, and call each other over a network that loses and delays. */
export class Cluster {
  readonly clock = new Clock();
  readonly dice: Dice;
  owners: number;
  /** How often any owner has crashed. */
  crashes = 0;
  /** How often everybody has started. */
  #boots = 0;
  #client = new Life();
  #declarations: Declarations | null = null;
  readonly #declared = new DeclarationsDisk();
  readonly #disks: Disk[] = [];
  readonly #alive = new Map<number, OwnerLife>();
  readonly #witness: Witness;

  constructor(owners: number, dice: readonly number[], witness: Witness) {
    this.owners = owners;
    this.dice = new Dice(dice);
    this.#witness = witness;
  }

  get alive(): OwnerLife[] {
    return [...this.#alive.values()];
  }

  get placement(): Placement {
    return new Placement(this.owners);
  }

  /** Whether everybody has said of the last change that nothing is left to be moved. */
  get isSettled(): boolean {
    return this.#declared.epochs.at(-1)?.settled === 1;
  }

  /** What somebody who calls the objects is given for it. */
  env(caller: Life): Env {
    const env = {
      OWNER: {
        idFromName: (name: string) => name,
        get: (name: string) => {
          const index = Number(name.slice(ownerName(0).length - 1));
          return stub((method, args) => this.#call(caller, () => this.#awake(index), method, args));
        },
      },
      DECLARATIONS: {
        getByName: () => stub((method, args) => this.#call(caller, () => this.#declarationsAwake(), method, args)),
      },
      AUTH: "off",
      OWNERS: this.owners,
      // Nothing is forgotten for being idle: every group is owed everything until the end.
      EPHEMERAL_GROUP_IDLE_S: 0,
      EPHEMERAL_IMPLICIT_IDLE_S: 86_400,
    } as unknown as Env;
    return env;
  }

  /** The router, until everybody starts anew: what it has asked for then is never answered. */
  get broker(): Broker {
    return new Broker(this.env(this.#client));
  }

  /** Calls every owner that there ever was, as an operator would who wants to see them all. */
  async wakeAll(): Promise<void> {
    await Promise.all(this.#disks.map((_, index) => remoteOwner(this.env(this.#client), index).counters()));
  }

  #awake(index: number): OwnerLife {
    let life = this.#alive.get(index);
    if (life === undefined) {
      const disk = (this.#disks[index] ??= new Disk(this.clock));
      life = new OwnerLife(index, disk, (caller) => this.env(caller));
      this.#alive.set(index, life);
    }
    return life;
  }

  #declarationsAwake(): Declarations {
    this.#declarations ??= new Declarations(this.#declared, this.clock, (caller) => this.env(caller));
    return this.#declarations;
  }

  #call(caller: Life, callee: () => Life, method: string, args: unknown[]): Promise<unknown> {
    if (caller.isOver) return new Promise(() => {});
    const { clock, dice } = this;
    const boot = this.#boots;
    const fate = dice.fate;
    const sent = copyOf(args);
    return new Promise((resolve, reject) => {
      const hear = (tell: () => void) => {
        clock.activity++;
        if (!caller.isOver) tell();
      };
      const fail = (why: string) => hear(() => reject(new Error(`${method}: ${why}`)));
      const carryOut = () => {
        clock.activity++;
        // A late call outlives its caller, but not the process that both ends are in.
        if (this.#boots !== boot) return;
        const life = callee();
        const stopMourning = life.outliving(() => fail("the object has crashed"));
        const answered = (tell: () => void) => {
          clock.activity++;
          if (life.isOver) return;
          stopMourning();
          if (fate === "answer lost") fail("the connection is lost");
          else if (fate === "answer late") clock.setTimeout(() => hear(tell), dice.lateMs());
          else hear(tell);
        };
        const object = (life instanceof OwnerLife ? life.owner : life) as unknown as Methods;
        const run = async () => {
          try {
            const result = await object[method]?.(...sent);
            if (life instanceof OwnerLife && !life.isOver) this.#witness(life, method, sent, result);
            answered(() => resolve(copyOf(result)));
          } catch (error) {
            answered(() => reject(error));
          }
        };
        void run();
      };
      if (fate === "lost") fail("the call is lost");
      else if (fate === "late") clock.setTimeout(carryOut, dice.lateMs());
      else carryOut();
    });
  }

  /** Ends an owner's life; the next call starts it again from its disk. */
  crash(index: number): void {
    const life = this.#alive.get(index);
    if (life === undefined) return;
    life.end(this.clock.now);
    this.#bury(life);
    life.mourn();
  }

  #bury({ index }: OwnerLife): void {
    this.crashes++;
    this.#alive.delete(index);
    const survivors = this.dice.next;
    this.#disks[index]?.crash(survivors === Infinity ? 0 : survivors % 3);
  }

  /** Everybody goes at once, as with a deploy, and comes back when called, perhaps in another number. */
  restart(owners = this.owners): void {
    this.#boots++;
    for (const life of [this.#client, this.#declarations, ...this.alive]) life?.end(this.clock.now);
    for (const life of this.alive) this.#bury(life);
    this.#client = new Life();
    this.#declarations = null;
    this.owners = owners;
    // An alarm that was running when its object went is called again.
    if (this.#declared.alarmAt !== null || this.#declared.alarmRuns) this.#declarationsAwake().arm(this.clock.now);
  }

  /** Which partitions stand where, and what is in them; served ones only, or all. */
  rings(): { index: number; queue: string; partition: string; isServed: boolean; texts: string[] }[] {
    return this.alive.flatMap(({ index, engine }) =>
      [...engine.queues.values()].flatMap(({ name, rings }) =>
        [...Array.from(rings.awake, awakeTexts), ...Array.from(rings.resting, restingTexts)].map((held) => ({
          index,
          queue: clientName(name),
          isServed: name === clientName(name),
          ...held,
        })),
      ),
    );
  }
}

function awakeTexts({ partition, messages }: Ring): { partition: string; texts: string[] } {
  return { partition, texts: Array.from(messages, ({ payload }) => payload) };
}

function restingTexts(ring: RestingRing): { partition: string; texts: string[] } {
  return { partition: ring.state.partition, texts: heldAtRest(ring).map(({ payload }) => payload) };
}

/** Looks like an object of which every method is a call. */
function stub(call: (method: string, args: unknown[]) => Promise<unknown>): object {
  const get = (_: object, method: string | symbol) =>
    typeof method === "string" ? (...args: unknown[]) => call(method, args) : undefined;
  return new Proxy({}, { get });
}
