import type { AckStatus } from "../../src/engine/engine.ts";
import { Book, CHECKPOINT_MS, messagesOf } from "./cluster-book.ts";
import { Cluster } from "./cluster.ts";
import type { Delivered } from "./harness.ts";

const LEASE_MS = 30_000;
/** Longer than the longest pause between two tries to settle an epoch, and than all of them before. */
const SETTLED_MS = 200_000;

/** One is declared, one is not. */
export const QUEUES = ["declared", "implicit"];
export const PARTITIONS = ["Default", "a", "b", "c"];
export const GROUPS = ["g1", "g2"];

export type Op =
  | { op: "push"; queue: string; partition: string; count: number }
  | { op: "pop"; queue: string; partition: string | null; group: string; batch: number; waitMs: number }
  | { op: "ack"; pick: number; status: AckStatus }
  | { op: "advance"; ms: number }
  | { op: "crash"; owner: number }
  | { op: "restart"; owners: number | null };

/** `turns` = how far the op gets before the next one begins; null = as far as it does. */
export interface Step {
  op: Op;
  turns: number | null;
}

/** A cluster, what is done with it, and what must be true of it. Messages are numbers, each pushed once. */
export class ClusterRun {
  readonly #cluster: Cluster;
  readonly #book: Book;
  readonly #popped: { queue: string; group: string; messages: Delivered[] }[] = [];
  #messages = 0;

  constructor(owners: number, dice: readonly number[]) {
    this.#cluster = new Cluster(owners, dice, (...seen) => this.#book.witness(...seen));
    this.#book = new Book(this.#cluster);
  }

  get counts(): { delivered: number; handedOver: number; crashes: number } {
    return { ...this.#book.counts, crashes: this.#cluster.crashes };
  }

  async whole(ops: readonly Step[]): Promise<void> {
    await this.#cluster.clock.rule(async () => {
      await this.#begin();
      for (const { op, turns } of ops) {
        this.#run(op);
        if (turns === null) await this.#cluster.clock.advance(op.op === "advance" ? op.ms : 0);
        else await this.#cluster.clock.turns(turns);
        this.#check();
      }
      await this.#end();
    });
  }

  /**
   * Both groups are there, and on the disk, before anything is pushed: they are owed every message. No partition is
   * without one when the run begins.
   */
  async #begin(): Promise<void> {
    const { clock } = this.#cluster;
    await this.#reliably(async () => {
      await this.#cluster.broker.configure("declared", {});
      for (const queue of QUEUES)
        for (const group of GROUPS) await this.#pop({ queue, partition: null, group, batch: 1, waitMs: 0 });
    });
    for (const queue of QUEUES) for (const partition of PARTITIONS) this.#push(queue, partition, 1);
    await clock.advance(2 * CHECKPOINT_MS);
  }

  #push(queue: string, partition: string, count: number): void {
    const texts = Array.from({ length: count }, () => String(this.#messages++));
    this.#book.sends(texts);
    this.#fire(this.#cluster.broker.push(queue, texts, partition));
  }

  /** Does something with no call failing; what was under way before may still fail, and is tried again. */
  async #reliably(work: () => Promise<void>): Promise<void> {
    const { dice, clock } = this.#cluster;
    dice.areAway = true;
    for (let tries = 1; ; tries++) {
      const outcome: { error: unknown }[] = [];
      const attempt = async () => {
        try {
          await work();
          outcome.push({ error: null });
        } catch (error) {
          outcome.push({ error });
        }
      };
      void attempt();
      for (let waits = 0; outcome.length === 0 && waits < 100; waits++) await clock.advance(100);
      const { error } = outcome[0] ?? { error: new Error("no answer after 10 s") };
      if (error === null) break;
      if (tries === 5) throw error;
    }
    dice.areAway = false;
  }

  #run(op: Op): void {
    const cluster = this.#cluster;
    switch (op.op) {
      case "push":
        this.#push(op.queue, op.partition, op.count);
        return;
      case "pop":
        this.#fire(this.#pop(op));
        return;
      case "ack": {
        const popped = this.#popped.at(-1 - op.pick);
        if (popped === undefined) return;
        const acks = popped.messages.map(({ id, attempts }) => ({ id, attempts, status: op.status }));
        this.#fire(cluster.broker.ack(popped.queue, popped.group, acks));
        return;
      }
      case "crash":
        cluster.crash(op.owner % cluster.owners);
        return;
      case "restart":
        cluster.restart(op.owners ?? cluster.owners);
        return;
      case "advance":
    }
  }

  /** Nobody waits for the answer; a failure is one of the network's. */
  #fire(request: Promise<unknown>): void {
    request.catch(() => {});
  }

  async #pop(request: { queue: string; partition: string | null; group: string; batch: number; waitMs: number }) {
    const answer = await this.#cluster.broker.pop({ ...request, autoAck: false, waiterId: `w${this.#messages++}` });
    const messages = messagesOf(answer);
    this.#book.hears(request.group, messages);
    if (messages.length > 0) this.#popped.push({ queue: request.queue, group: request.group, messages });
    return messages;
  }

  #check(): void {
    this.#book.check();
    const { placement } = this.#cluster;
    const served = new Map<string, number>();
    for (const { index, queue, partition, isServed, texts } of this.#cluster.rings()) {
      const what = `${queue}/${partition} on owner ${index}`;
      this.#book.checkOrder(what, texts);
      if (!isServed) continue;
      if (placement.owner(queue, partition) !== index) throw new Error(`${what} is served where it does not belong`);
      for (const text of texts) {
        const other = served.get(text);
        if (other !== undefined) throw new Error(`message ${text} is served by owners ${other} and ${index}`);
        served.set(text, index);
      }
    }
  }

  async #end(): Promise<void> {
    const cluster = this.#cluster;
    cluster.dice.putAway();
    await this.#reliably(() => cluster.wakeAll());
    await cluster.clock.advance(SETTLED_MS);
    await this.#reliably(() => cluster.wakeAll());
    this.#check();
    this.#mustBeSettled();
    await this.#drain();
    this.#book.checkDelivered(GROUPS);
    // What was settled long ago does not come back.
    cluster.restart();
    await this.#drain();
  }

  #mustBeSettled(): void {
    if (!this.#cluster.isSettled) throw new Error("the last epoch is not settled");
    const moving = this.#cluster.rings().filter(({ isServed }) => !isServed);
    if (moving.length > 0) throw new Error(`still in transit: ${JSON.stringify(moving)}`);
  }

  /** Takes everything, once every lease has run out. */
  async #drain(): Promise<void> {
    await this.#cluster.clock.advance(LEASE_MS + 1);
    for (const queue of QUEUES) {
      for (const group of GROUPS) {
        await this.#reliably(async () => {
          const messages = await this.#pop({ queue, partition: null, group, batch: 1000, waitMs: 0 });
          const acks = messages.map(({ id }) => ({ id, status: "completed" as const }));
          if (acks.length > 0) await this.#cluster.broker.ack(queue, group, acks);
        });
        this.#check();
      }
    }
    await this.#cluster.clock.advance(2 * CHECKPOINT_MS);
    this.#check();
    const left = this.#cluster.rings().filter(({ texts }) => texts.length > 0);
    if (left.length > 0) throw new Error(`left after everybody has had it: ${JSON.stringify(left)}`);
  }
}
