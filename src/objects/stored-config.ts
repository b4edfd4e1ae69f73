import type { QueueConfig } from "../contract/queue-config.ts";
import type { Database } from "../durable/database.ts";

/** What Declarations told an object last; null = nothing yet. */
export function readStoredConfig(storage: DurableObjectStorage, db: Database): QueueConfig | null {
  // An object that was never configured has no tables, and shall not get any from being asked.
  if (storage.kv.get("schema") === undefined) return null;
  const row = db.first<{ json: string }>("SELECT json FROM config");
  return row === undefined ? null : (JSON.parse(row.json) as QueueConfig);
}

export function storeConfig(db: Database, config: QueueConfig): void {
  db.run(
    "INSERT INTO config (id, json) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET json = excluded.json",
    JSON.stringify(config),
  );
}
