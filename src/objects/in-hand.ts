import { ackNeed } from "../auth/ack-need.ts";
import type { Refusal } from "../contract/errors.ts";
import { ackStatus } from "../contract/requests.ts";
import { frame, type ClientFrame } from "../contract/socket.ts";
import type { Handed } from "../engine/batch.ts";
import type { Ack, Outcome } from "../engine/engine.ts";
import { idsOf, partitionsIn } from "../engine/ids.ts";
import { routeAcks } from "./ack-routing.ts";
import { forbidden } from "./forbidden.ts";
import type { Turn } from "./home.ts";
import type { Peers } from "./peers.ts";
import { ackColumns, type Subscribe } from "./protocol.ts";

/** Whoever has messages in hand over a socket. */
type Holder = Pick<Subscribe, "id" | "queue" | "group" | "bearer">;

/**
 * What becomes of messages in the hands of subscribers: what their clients say of them, and what is given back when they
 * have gone. A subscriber of any partition has messages of other owners, too.
 */
export class InHand {
  readonly #turn: Turn;
  readonly #peers: Peers;

  constructor(turn: Turn, peers: Peers) {
    this.#turn = turn;
    this.#peers = peers;
  }

  async ack(session: Holder, { ref, acks: entries }: ClientFrame & { type: "ack" }): Promise<string | Refusal> {
    const { id, queue, group } = session;
    const acks = entries.map((entry): Ack => {
      return { id: entry.id, status: ackStatus(entry.status), attempts: entry.attempts ?? undefined };
    });
    const refusal = forbidden(session, () => ackNeed({ queue, group, acks }));
    if (refusal !== null) return refusal;
    const ids = idsOf(acks);
    const outcomes = partitionsIn(ids).every((partition) => this.#isHere(queue, partition))
      ? this.#turn((engine) => {
          engine.subscriptions.settle(id, acks, ids);
          const settled = engine.ack(queue, group, acks, ids);
          engine.subscriptions.goOn(id);
          return settled;
        })
      : await this.#settleAcross(session, acks);
    if (ref === null) return "";
    const results = acks.map((ack, index) => ({ id: ack.id, outcome: outcomes[index] ?? "unknown" }));
    return frame("acked", ref, { results: JSON.stringify(results) });
  }

  /** Settles what is still out of a batch, at whichever owners it came from. */
  async ackBatch(session: Holder, { ref, batch }: ClientFrame & { type: "ack-batch" }): Promise<string | Refusal> {
    const { id, queue, group } = session;
    const handed = this.#turn((engine) => engine.subscriptions.inBatch(id, batch));
    const partitions = handed.map(({ partition }) => partition);
    const refusal = forbidden(session, () => ({ of: "ephemeral", verb: "ack", queue, partitions, group }));
    if (refusal !== null) return refusal;
    const acked = partitions.every((partition) => this.#isHere(queue, partition))
      ? this.#turn((engine) => {
          engine.subscriptions.settleBatch(id, batch);
          const completed = engine.complete(queue, group, handed);
          engine.subscriptions.goOn(id);
          return completed;
        })
      : await this.#completeAcross(session, batch, handed);
    return ref === null ? "" : frame("acked", ref, { acked: String(acked) });
  }

  async #completeAcross({ id, queue, group }: Holder, batch: number, handed: readonly Handed[]): Promise<number> {
    this.#turn((engine) => engine.subscriptions.settleBatch(id, batch));
    const { self } = this.#peers;
    try {
      const completed = Array.from(this.#byOwner(queue, handed), ([owner, part]) =>
        owner === self
          ? this.#turn((engine) => engine.complete(queue, group, part))
          : this.#peers.owner(owner).complete(queue, group, part),
      );
      return (await Promise.all(completed)).reduce((sum, count) => sum + count, 0);
    } finally {
      this.#turn((engine) => engine.subscriptions.goOn(id));
    }
  }

  #byOwner(queue: string, handed: readonly Handed[]): Map<number, Handed[]> {
    return Map.groupBy(handed, ({ partition }) => this.#peers.placement.owner(queue, partition));
  }

  #isHere(queue: string, partition: string): boolean {
    return this.#peers.placement.owner(queue, partition) === this.#peers.self;
  }

  /** The same for acks as {@link #completeAcross}. */
  async #settleAcross({ id, queue, group }: Holder, acks: readonly Ack[]): Promise<Outcome[]> {
    const { placement, self } = this.#peers;
    this.#turn((engine) => engine.subscriptions.settle(id, acks));
    try {
      return await routeAcks(
        acks,
        (partition) => placement.owner(queue, partition),
        (owner, part) =>
          owner === self
            ? this.#turn((engine) => engine.ack(queue, group, part))
            : this.#peers.owner(owner).ack(queue, group, ackColumns(part)),
      );
    } finally {
      this.#turn((engine) => engine.subscriptions.goOn(id));
    }
  }

  async giveBack({ queue, group }: Holder, out: readonly Handed[], reached: boolean): Promise<void> {
    for (const [owner, part] of this.#byOwner(queue, out)) {
      if (owner === this.#peers.self) this.#turn((engine) => engine.release(queue, group, part, reached));
      // If it cannot be asked, leases end by themselves.
      else
        await this.#peers
          .owner(owner)
          .release(queue, group, part, reached)
          .catch(() => {});
    }
  }
}
