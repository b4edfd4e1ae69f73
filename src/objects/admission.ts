import { refuse, type Refusal } from "../contract/errors.ts";
import type { Engine, PopRequest } from "../engine/engine.ts";
import type { Home } from "./home.ts";
import type { Moves } from "./moves.ts";
import type { Peers } from "./peers.ts";
import type { Share } from "./share.ts";

/** The parts of an owner that have a say in who comes in. */
interface Gates {
  engine: Engine;
  peers: Peers;
  home: Home;
  share: Share;
  moves: Moves;
}

/**
 * Lets requests in. Before one is answered its owner has loaded what is declared, the queue's home knows that a part of it
 * is here, the whole queue knows the group, and a partition on its way between two owners has arrived.
 */
export class Admission {
  readonly #gates: Gates;

  constructor(gates: Gates) {
    this.#gates = gates;
  }

  /** Declarations, once. */
  async load(): Promise<void> {
    const { home, share } = this.#gates;
    if (home.isLoaded) return;
    await home.load();
    share.rejoin();
  }

  /** Whether requests for a queue can be answered at once: declarations are here, and its home knows of this part. */
  isOpen(queue: string): boolean {
    const { home, peers, share } = this.#gates;
    return home.isLoaded && (peers.isHome(queue) || share.hasJoined(queue));
  }

  async open(queue: string): Promise<void> {
    await this.load();
    while (!this.isOpen(queue)) await this.#gates.share.join(queue);
  }

  /** A part of a queue arrives, with the groups that its last owner knew. */
  async openFor(queue: string, groups: readonly string[]): Promise<void> {
    await this.open(queue);
    for (const group of groups) await this.#admit(queue, group);
  }

  /** Makes sure that what a push goes to is here. */
  async enterPush(queue: string, partition: string): Promise<Refusal | null> {
    if (!this.isOpen(queue)) await this.open(queue);
    return this.#arrived(queue, partition);
  }

  /** Makes sure that what is only looked at, or removed, is here, if it is anywhere: nothing is created for it. */
  async enterLook(queue: string, partition: string): Promise<Refusal | null> {
    await this.load();
    if (!this.#gates.moves.mayBeElsewhere(queue, partition)) return null;
    return this.enterPush(queue, partition);
  }

  /** Makes sure that what a pop or a subscriber reads is here, and known to all whom it concerns. */
  async enter({ queue, group, partition }: Pick<PopRequest, "queue" | "group" | "partition">): Promise<Refusal | null> {
    if (!this.isOpen(queue) || !this.#knowsGroup(queue, group)) {
      const refusal = await this.#admit(queue, group);
      if (refusal !== null) return refusal;
    }
    const { home } = this.#gates;
    if (partition !== null) return this.#arrived(queue, partition);
    if (!home.isSurveyed) await home.survey();
    return null;
  }

  async #arrived(queue: string, partition: string): Promise<Refusal | null> {
    const { moves } = this.#gates;
    const isHere = !moves.mayBeElsewhere(queue, partition) || (await moves.pull(queue, partition));
    return isHere ? null : moved(queue);
  }

  #knowsGroup(queue: string, group: string): boolean {
    return this.#gates.engine.queues.get(queue)?.groups.has(group) ?? false;
  }

  /** A group may pop here for the first time: its name must be known to the whole queue before that is answered. */
  async #admit(queue: string, group: string): Promise<Refusal | null> {
    const { home, peers, share } = this.#gates;
    await this.open(queue);
    if (peers.isHome(queue)) return this.#knowsGroup(queue, group) ? null : home.admitGroup(queue, group);
    while (!this.#knowsGroup(queue, group)) {
      const refusal = await share.admitGroup(queue, group);
      if (refusal !== null) return refusal;
      // The queue may have been deleted meanwhile.
      await this.open(queue);
    }
    return null;
  }
}

export function moved(queue: string): Refusal {
  return refuse("owner_moved", `queue ${JSON.stringify(queue)} is moving to another owner; try again in a moment`);
}
