import { refuse, type Refusal } from "../contract/errors.ts";
import { MAX_TICKETS, TICKET_SECONDS } from "../contract/limits.ts";
import type { Database } from "../durable/database.ts";

/** One-time tickets, each with what it stands for. A row goes when its ticket is used, or has expired. */
export class Tickets {
  readonly #db: Database;
  readonly #wake: (at: number | null) => Promise<void>;

  /** `wake` asks for a {@link sweep} at this time; null = at none. */
  constructor(db: Database, wake: (at: number | null) => Promise<void>) {
    this.#db = db;
    this.#wake = wake;
  }

  /** Refuses when too many wait already: tickets cost their buyer nothing. */
  async issue(ticket: string, bearer: string): Promise<Refusal | null> {
    const now = Date.now();
    this.#dropExpired(now);
    const waiting = this.#count();
    if (waiting >= MAX_TICKETS) return refuse("ephemeral_unavailable", `${waiting} tickets wait to be used already`);
    const expiresAt = now + TICKET_SECONDS * 1000;
    this.#db.run("INSERT INTO tickets (ticket, bearer, expires_at) VALUES (?, ?, ?)", ticket, bearer, expiresAt);
    // An alarm is a row: one for as long as there are tickets, and not one for each.
    if (waiting === 0) await this.#wake(expiresAt);
    return null;
  }

  /** What a ticket stands for, once; null = it was used before, has expired, or never was. */
  redeem(ticket: string): string | null {
    const row = this.#db.first<{ bearer: string; expires_at: number }>(
      "SELECT bearer, expires_at FROM tickets WHERE ticket = ?",
      ticket,
    );
    if (row === undefined) return null;
    this.#db.run("DELETE FROM tickets WHERE ticket = ?", ticket);
    return row.expires_at > Date.now() ? row.bearer : null;
  }

  /** Removes what nobody came for. */
  async sweep(): Promise<void> {
    this.#dropExpired(Date.now());
    const last = this.#db.first<{ at: number | null }>("SELECT MAX(expires_at) AS at FROM tickets");
    if (last?.at != null) await this.#wake(last.at);
  }

  #dropExpired(now: number): void {
    this.#db.run("DELETE FROM tickets WHERE expires_at <= ?", now);
  }

  #count(): number {
    return this.#db.first<{ count: number }>("SELECT COUNT(*) AS count FROM tickets")?.count ?? 0;
  }
}
