/**
 * Brings an object's SQLite schema up to date: runs the numbered files that it has not run yet. Called in the
 * constructor, where no request can see a schema half done.
 */
export function migrate(storage: DurableObjectStorage, migrations: readonly string[]): void {
  const done = storage.kv.get<number>("schema") ?? 0;
  if (done >= migrations.length) return;
  storage.transactionSync(() => {
    for (const sql of migrations.slice(done)) storage.sql.exec(sql);
    storage.kv.put("schema", migrations.length);
  });
}
