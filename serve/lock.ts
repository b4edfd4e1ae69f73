import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/**
 * Takes a data directory for this process, and answers null when another one has it. The lock is SQLite's on a file in it: the
 * system lets go of it when the process ends, however it ends, and nothing stale can be left.
 */
export function lock(data: string): DatabaseSync | null {
  const database = new DatabaseSync(join(data, "lock.sqlite"));
  try {
    database.exec("BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    if ((error as { errcode?: unknown }).errcode === SQLITE_BUSY) return null;
    throw error;
  }
}

const SQLITE_BUSY = 5;
