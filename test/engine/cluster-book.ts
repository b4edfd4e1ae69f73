import { isRefusal } from "../../src/contract/errors.ts";
import type { Claim, Outcome } from "../../src/engine/engine.ts";
import { unpack, type AckColumns, type ClaimAnswer, type Parcel, type PopAnswer } from "../../src/objects/protocol.ts";
import type { OwnerLife } from "./cluster-owner.ts";
import type { Cluster } from "./cluster.ts";
import type { Delivered } from "./harness.ts";

export const CHECKPOINT_MS = 1000;

/** Something that an owner did, as far as it outlives that owner. */
interface Deed {
  life: OwnerLife;
  at: number;
  /** When it was, among all that was done and asked for. */
  order: number;
}

interface Handed {
  attempts: number;
  crashes: number;
}

/** What was done, whether or not anybody heard of it, and what follows from that. */
export class Book {
  readonly counts = { delivered: 0, handedOver: 0 };
  readonly #cluster: Cluster;
  readonly #pushes = new Map<number, Deed & { queue: string; partition: string }>();
  readonly #sent = new Map<number, number>();
  /** Acks that were answered with success, by group and message. */
  readonly #acks = new Map<string, Deed>();
  readonly #handed = new Map<string, Handed>();
  readonly #deliveries = new Set<string>();
  readonly #heard = new Set<string>();
  readonly #messageOf = new Map<string, number>();
  #orders = 0;
  #wrong: string[] = [];

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  sends(texts: readonly string[]): void {
    for (const text of texts) this.#sent.set(Number(text), this.#orders++);
  }

  hears(group: string, messages: readonly Delivered[]): void {
    for (const { payload } of messages) this.#heard.add(`${group} ${String(payload)}`);
  }

  witness(life: OwnerLife, method: string, args: unknown[], result: unknown): void {
    if (isRefusal(result)) return;
    const deed = { life, at: this.#cluster.clock.now, order: this.#orders++ };
    if (method === "push") {
      const [queue, partition, texts] = args as [string, string, string[]];
      for (const text of texts) this.#pushes.set(Number(text), { ...deed, queue, partition });
    } else if (method === "pop") {
      const [{ group }] = args as [{ group: string }];
      for (const message of messagesOf(result as PopAnswer)) this.#handOver(group, message);
    } else if (method === "claim") {
      const [{ group }] = args as [Claim];
      const { items } = result as ClaimAnswer;
      for (const item of items) this.#handOver(group, JSON.parse(unpack(item)) as Delivered);
    } else if (method === "adopt") {
      const [parcels] = args as [Parcel[]];
      this.counts.handedOver += parcels.filter(({ last }) => last).length;
    } else if (method === "ack") {
      const [, group, { ids }] = args as [string, string, AckColumns];
      (result as Outcome[]).forEach((outcome, index) => {
        const message = this.#messageOf.get(ids[index] ?? "");
        if (outcome === "acked" && message !== undefined) this.#acks.set(`${group} ${message}`, deed);
      });
    }
  }

  /** A message comes again when its lease has run out, when it was handed back, or when a crash has undone the rest. */
  #handOver(group: string, { id, payload, attempts }: Delivered): void {
    const { crashes } = this.#cluster;
    // A pop of any partition answers later with what another owner has handed over.
    const delivery = `${group} ${id} ${attempts}`;
    if (this.#deliveries.has(delivery)) return;
    this.#deliveries.add(delivery);
    const key = `${group} ${String(payload)}`;
    const before = this.#handed.get(key);
    this.counts.delivered++;
    this.#messageOf.set(id, Number(payload));
    this.#handed.set(key, { attempts, crashes });
    if (before !== undefined && before.crashes === crashes && before.attempts >= attempts) {
      this.#wrong.push(`${key} was handed over twice, as ${before.attempts} and ${attempts}`);
    }
    const ack = this.#acks.get(key);
    if (ack !== undefined && survives(ack)) this.#wrong.push(`${key} was handed over after it had been acked for good`);
  }

  /** What was wrong where no caller hears of it. */
  check(): void {
    const [wrong] = this.#wrong;
    if (wrong !== undefined) throw new Error(wrong);
  }

  /** What was pushed after another push had been answered stands behind it. */
  checkOrder(what: string, texts: readonly string[]): void {
    let latestSent = -1;
    for (const text of texts) {
      const { order = Infinity } = this.#pushes.get(Number(text)) ?? {};
      if (order < latestSent) throw new Error(`${what} is out of order: ${texts.join()}`);
      latestSent = Math.max(latestSent, this.#sent.get(Number(text)) ?? -1);
    }
  }

  /** Every message that is on a disk, or was, has come to everybody. */
  checkDelivered(groups: readonly string[]): void {
    for (const [message, push] of this.#pushes) {
      for (const group of groups) {
        if (survives(push) && !this.#heard.has(`${group} ${message}`)) {
          throw new Error(`${group} never got message ${message} of ${push.queue}/${push.partition}`);
        }
      }
    }
  }
}

export function messagesOf(answer: PopAnswer): Delivered[] {
  return JSON.parse(`[${unpack(answer.json)}]`) as Delivered[];
}

/** Whether its owner lived for long enough after a deed to have it on the disk. */
function survives({ life, at }: Deed): boolean {
  return life.endedAt - at > CHECKPOINT_MS;
}
