import { DurableObject } from "cloudflare:workers";
import ephemeralQueues from "../../migrations/declarations/0001_ephemeral_queues.sql";
import membershipEpochs from "../../migrations/declarations/0002_membership_epochs.sql";
import type { Env } from "../config.ts";
import { declaredOptions, type DeclaredOptions } from "../contract/options.ts";
import { Placement } from "../placement.ts";
import { MembershipEpochs } from "./membership.ts";
import { migrate } from "./migrate.ts";
import type { Declaration, Joined, Membership } from "./protocol.ts";
import { remoteOwner } from "./remote.ts";

/** The one object that stores what users declared. It answers once the write is on disk. */
export class Declarations extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #membership: MembershipEpochs;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    migrate(ctx.storage, [ephemeralQueues, membershipEpochs]);
    this.#membership = new MembershipEpochs(ctx.storage, (index) => remoteOwner(env, index));
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

  /** An owner has started: what is declared for it, and what it must know of how many owners there were. */
  join(owner: number, owners: number): Joined {
    return { declarations: this.#homedAt(owner, owners), membership: this.#membership.report(owners) };
  }

  membership(): Membership {
    return this.#membership.state;
  }

  #homedAt(owner: number, owners: number): Declaration[] {
    const placement = new Placement(owners);
    const homed: Declaration[] = [];
    const rows = this.#sql.exec<{ queue: string; options: string }>("SELECT queue, options FROM ephemeral_queues");
    for (const row of rows) {
      if (placement.home(row.queue) !== owner) continue;
      homed.push({ queue: row.queue, options: declaredOptions.parse(JSON.parse(row.options)) });
    }
    return homed;
  }

  override async alarm(): Promise<void> {
    await this.#membership.settle();
  }
}
