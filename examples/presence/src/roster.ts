import type { State } from "./state.ts";

export interface Line {
  name: string;
  text: string;
}

/** Who is in the room, by what was heard of them. */
export class Roster {
  readonly #ttlMs: number;
  readonly #heard = new Map<string, { state: State; at: number }>();
  /** Of those who left: a state that was under way does not bring them back. */
  readonly #left = new Set<string>();

  /** Somebody of whom nothing is heard for `ttlMs` is gone. */
  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  /** Takes a state in; answers the line that it says for the first time. */
  hear(state: State, now: number): Line | null {
    const { id, seq, name, said } = state;
    const before = this.#heard.get(id)?.state;
    if (this.#left.has(id) || (before !== undefined && seq <= before.seq)) return null;
    if (state.hasLeft === true) {
      this.#heard.delete(id);
      this.#left.add(id);
      return null;
    }
    this.#heard.set(id, { state, at: now });
    // Of somebody who was not here before, the last line is old.
    const isNews = said !== null && before !== undefined && said.line > (before.said?.line ?? 0);
    return isNews ? { name, text: said.text } : null;
  }

  /** Everybody who is here, in the order of their coming. */
  present(now: number): State[] {
    for (const [id, { at }] of this.#heard) if (now - at >= this.#ttlMs) this.#heard.delete(id);
    return Array.from(this.#heard.values(), ({ state }) => state);
  }
}
