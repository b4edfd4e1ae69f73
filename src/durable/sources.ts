import type { Database } from "./database.ts";

/** Who numbers what it hands over: other partitions their dead letters, imports their messages. */

/** Objects that send dead letters begin with the id of their queue, which holds no such sign. */
export function importSource(source: string): string {
  return `import ${source}`;
}

/** Those whose number is above the last one of their source; the others are repeats. Numbers grow. */
export function unheard<T extends { number: number }>(db: Database, source: string, numbered: readonly T[]): T[] {
  const last = db.first<{ number: number }>("SELECT number FROM sources WHERE source = ?", source)?.number ?? 0;
  return numbered.filter(({ number }) => number > last);
}

/** The same, which are no longer unheard once this turn is saved. */
export function hear<T extends { number: number }>(db: Database, source: string, numbered: readonly T[]): T[] {
  const fresh = unheard(db, source, numbered);
  const newest = fresh.at(-1);
  if (newest === undefined) return [];
  db.run(
    "INSERT INTO sources (source, number) VALUES (?, ?) ON CONFLICT (source) DO UPDATE SET number = excluded.number",
    source,
    newest.number,
  );
  return fresh;
}
