import type { RingExport } from "../engine/adopt.ts";
import type { Turn } from "./home.ts";
import type { MovesHost } from "./moves.ts";
import type { Parcel } from "./protocol.ts";

/** What of a move has arrived, until all of it has. */
interface Arriving {
  messages: RingExport["messages"];
  parcels: number;
}

/**
 * Partitions that come from other owners. Which moves have been taken over is remembered for as long as they could be
 * sent again, and so is which of them were called off: one and the same move never counts both ways.
 */
export class Arrivals {
  readonly #turn: Turn;
  readonly #host: MovesHost;
  readonly #moves: Set<string>;
  readonly #arriving = new Map<string, Arriving>();

  /** `moves` outlives this life. */
  constructor(turn: Turn, host: MovesHost, moves: Set<string>) {
    this.#turn = turn;
    this.#host = host;
    this.#moves = moves;
  }

  /** Nothing that was sent so far is sent again. */
  forget(): void {
    this.#moves.clear();
  }

  /** Takes in a parcel; with the last of a move `ready` is called, and then the partition is taken over. */
  async take({ move, queue, groups, index, last, ring }: Parcel, ready: () => Promise<void>): Promise<void> {
    if (this.#isDone(move)) return;
    const arriving = index === 0 ? { messages: [], parcels: 0 } : this.#arriving.get(move);
    // A parcel out of order is of an earlier try: that one starts again from the first.
    if (arriving?.parcels !== index) throw new Error(`parcel ${index} of ${move} came without those before it`);
    arriving.messages.push(...ring.messages);
    arriving.parcels++;
    this.#arriving.set(move, arriving);
    if (!last) return;
    await this.#host.open(queue, groups);
    await ready();
    this.#arriving.delete(move);
    if (this.#isDone(move)) return;
    this.#turn((engine) => {
      this.#moves.add(move);
      engine.adopt(queue, { ...ring, messages: arriving.messages });
    });
  }

  #isDone(move: string): boolean {
    if (this.#moves.has(calledOff(move))) throw new Error(`${move} has been called off`);
    return this.#moves.has(move);
  }

  /** Whether a move has been taken over. If it has not, it will not be any more. */
  async has(move: string): Promise<boolean> {
    if (this.#moves.has(move)) return true;
    this.#turn((engine) => {
      this.#moves.add(calledOff(move));
      engine.ledger.change(Date.now());
    });
    await this.#host.flush();
    return false;
  }
}

function calledOff(move: string): string {
  return `-${move}`;
}
