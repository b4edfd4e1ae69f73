import { DEFAULT_PARTITION } from "./contract/limits.ts";

/**
 * Which owner holds what, by highest-random-weight hash: every router computes the same owner from the same count, and
 * one owner more moves only the share that it takes over.
 */
export class Placement {
  readonly owners: number;
  readonly #seeds: number[];

  constructor(owners: number) {
    this.owners = owners;
    this.#seeds = Array.from({ length: owners }, (_, owner) => mix(Math.imul(owner + 1, 0x9e3779b1)));
  }

  /** The owner of a queue's `Default` partition, which also answers for the queue as a whole. */
  home(queue: string): number {
    return this.#heaviest(hash(queue));
  }

  /** The owner of one partition. */
  owner(queue: string, partition: string): number {
    // No name holds a control character, so the separator cannot be part of either.
    return partition === DEFAULT_PARTITION ? this.home(queue) : this.#heaviest(hash(`${queue}\u0000${partition}`));
  }

  #heaviest(key: number): number {
    let best = 0;
    let bestWeight = -1;
    for (let owner = 0; owner < this.#seeds.length; owner++) {
      const weight = mix(key ^ (this.#seeds[owner] as number));
      if (weight > bestWeight) {
        best = owner;
        bestWeight = weight;
      }
    }
    return best;
  }
}

/** The name of an owner's Durable Object. */
export function ownerName(owner: number): string {
  return `owner-${owner}`;
}

/** FNV-1a over UTF-16 units. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h;
}

/** The finalizer of MurmurHash3: every bit of the input moves every bit of the output. */
function mix(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
