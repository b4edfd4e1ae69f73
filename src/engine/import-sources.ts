/** Imports that a partition remembers: beyond, the one that was used longest ago is forgotten. */
const MAX_SOURCES = 16;

/** The last number that a partition has taken from each import, so that what is sent again is stored once. */
export class ImportSources {
  readonly #last = new Map<string, number>();

  constructor(entries: Iterable<[source: string, number: number]> = []) {
    for (const [source, number] of entries) this.note(source, number);
  }

  last(source: string): number {
    return this.#last.get(source) ?? 0;
  }

  note(source: string, number: number): void {
    const last = Math.max(number, this.last(source));
    this.#last.delete(source);
    this.#last.set(source, last);
    if (this.#last.size <= MAX_SOURCES) return;
    const [oldest] = this.#last.keys();
    if (oldest !== undefined) this.#last.delete(oldest);
  }

  /** The one that was used longest ago first. */
  get entries(): [source: string, number: number][] {
    return [...this.#last];
  }
}
