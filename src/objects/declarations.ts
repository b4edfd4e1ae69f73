import { DurableObject } from "cloudflare:workers";
import ephemeralQueues from "../../migrations/declarations/0001_ephemeral_queues.sql";
import type { Env } from "../config.ts";
import { declaredOptions, type DeclaredOptions } from "../contract/options.ts";
import { Placement } from "../placement.ts";
import { migrate } from "./migrate.ts";
import type { Declaration } from "./protocol.ts";

/** The one object that stores what users declared. It answers once the write is on disk. */
export class Declarations extends DurableObject<Env> {
  readonly #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    migrate(ctx.storage, [ephemeralQueues]);
  }

  declareEphemeral(queue: string, options: DeclaredOptions): void {
    this.#sql.exec(
      "INSERT INTO ephemeral_queues (queue, options) VALUES (?, ?) ON CONFLICT (queue) DO UPDATE SET options = excluded.options",
      queue,
      JSON.stringify(options),
    );
  }

  /** Answers whether there was a declaration to remove. */
  removeEphemeral(queue: string): boolean {
    return this.#sql.exec("DELETE FROM ephemeral_queues WHERE queue = ?", queue).rowsWritten > 0;
  }

  /** The declared queues whose home is `owner` among `owners`. */
  ephemeralHomedAt(owner: number, owners: number): Declaration[] {
    const placement = new Placement(owners);
    const homed: Declaration[] = [];
    for (const row of this.#sql.exec<{ queue: string; options: string }>(
      "SELECT queue, options FROM ephemeral_queues",
    )) {
      if (placement.home(row.queue) !== owner) continue;
      homed.push({ queue: row.queue, options: declaredOptions.parse(JSON.parse(row.options)) });
    }
    return homed;
  }
}
