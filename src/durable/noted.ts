import type { RowSpan } from "./log.ts";
import type { Pending } from "./pending.ts";
import type { Store } from "./store.ts";
import { flyingOf, viewOf } from "./views.ts";

/** How a message stood. */
export interface Standing {
  attempts: number;
  /** When it was due; null = it was ready, or out. */
  dueAt: number | null;
}

const UNTOUCHED: Standing = { attempts: 0, dueAt: null };

/**
 * How the messages of a span of the log stood at one time. Only what somebody had been given is written down, a few numbers
 * each; of everything else its place says enough.
 */
export class Noted {
  readonly #behind: number;
  /** Ascending, as are the places of what follows. */
  readonly #holes: Float64Array;
  readonly #seqs: Float64Array;
  readonly #attempts: Uint16Array;
  /** 0 = it was not delayed. */
  readonly #dues: Float64Array;
  #length = 0;

  constructor(store: Store, span: RowSpan, now: number) {
    const flying = flyingOf(store);
    const most = store.pending.count + flying.size;
    this.#behind = store.behind.seq;
    this.#holes = Float64Array.from(store.log.holesIn(span)).sort();
    this.#seqs = new Float64Array(most);
    this.#attempts = new Uint16Array(most);
    this.#dues = new Float64Array(most);
    const out = Float64Array.from(flying.keys()).sort();
    let next = 0;
    const noteUpTo = (seq: number) => {
      for (let one = out[next]; one !== undefined && one < seq; one = out[++next]) {
        this.#note(one, [], flying.get(one), now);
      }
    };
    for (const [seq, pending] of store.pending.bySeq(span)) {
      noteUpTo(seq);
      if (out[next] === seq) next++;
      this.#note(seq, pending, flying.get(seq), now);
    }
    noteUpTo(span.to);
  }

  #note(seq: number, pending: readonly Pending[], out: number | undefined, now: number): void {
    const view = viewOf(pending, out, true, 0, now);
    if (view === null) return;
    const at = this.#length++;
    this.#seqs[at] = seq;
    this.#attempts[at] = view.attempts;
    this.#dues[at] = view.state === "delayed" ? (view.dueAt ?? 0) : 0;
  }

  /** null = it had been settled, or purged. */
  standingOf(seq: number): Standing | null {
    if (placeIn(this.#holes, this.#holes.length, seq) !== -1) return null;
    const at = placeIn(this.#seqs, this.#length, seq);
    if (at === -1) return seq >= this.#behind ? UNTOUCHED : null;
    const due = this.#dues[at] ?? 0;
    return { attempts: this.#attempts[at] ?? 0, dueAt: due === 0 ? null : due };
  }
}

/** Where a number is among the first ones of an ascending list; -1 = nowhere. */
function placeIn(sorted: Float64Array, length: number, wanted: number): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? Infinity) < wanted) low = middle + 1;
    else high = middle;
  }
  return low < length && sorted[low] === wanted ? low : -1;
}
