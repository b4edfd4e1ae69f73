import { DurableObject } from "cloudflare:workers";
import ephemeralQueues from "../../migrations/declarations/0001_ephemeral_queues.sql";
import membershipEpochs from "../../migrations/declarations/0002_membership_epochs.sql";
import durableQueues from "../../migrations/declarations/0003_durable_queues.sql";
import tickets from "../../migrations/declarations/0004_tickets.sql";
import { CALLS_PER_EVENT, readConfig, type Env } from "../config.ts";
import type { Refusal } from "../contract/errors.ts";
import { declaredOptions, type DeclaredOptions } from "../contract/options.ts";
import type { QueueConfig, QueueSettings } from "../contract/queue-config.ts";
import type { ConsumerDraft } from "../contract/queue-consumers.ts";
import { isQueueRefusal, QueueError, refuseQueue, type QueueRefusal } from "../contract/queue-errors.ts";
import type { Manifest } from "../contract/queue-manifest.ts";
import { Database } from "../durable/database.ts";
import { Placement } from "../placement.ts";
import { Alarms } from "./alarms.ts";
import { Announcements } from "./announcements.ts";
import { Bridges } from "./bridges.ts";
import { Manifests } from "./manifests.ts";
import { MembershipEpochs } from "./membership.ts";
import { migrate } from "./migrate.ts";
import type { Declaration, Joined, Membership } from "./protocol.ts";
import { isSame, QueueConsumers } from "./queue-consumers.ts";
import type {
  AppliedManifest,
  Bridge,
  BridgeTarget,
  ConsumerRecord,
  CountedQueue,
  PurgeState,
  QueuePage,
  QueueRecord,
  ResolvedQueue,
} from "./queue-records.ts";
import { QueueRegistry } from "./queue-registry.ts";
import { QueueTable } from "./queue-table.ts";
import { remoteDurableQueue, remoteOwner } from "./remote.ts";
import { Tickets } from "./tickets.ts";

type Answer<T> = T | QueueRefusal;

/**
 * The one object that stores what users declared. It answers once the write is on disk, and, where objects of queues must
 * hear of a change, once each was called.
 */
export class Declarations extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #alarms: Alarms;
  readonly #membership: MembershipEpochs;
  readonly #queues: QueueTable;
  readonly #consumers: QueueConsumers;
  readonly #registry: QueueRegistry;
  readonly #manifests: Manifests;
  readonly #bridges: Bridges;
  readonly #announcements: Announcements;
  readonly #tickets: Tickets;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    migrate(ctx.storage, [ephemeralQueues, membershipEpochs, durableQueues, tickets]);
    this.#alarms = new Alarms(ctx.storage, {
      membership: () => this.#membership.settle(),
      announcements: () => this.#announcements.flush(),
      tickets: () => this.#tickets.sweep(),
    });
    this.#membership = new MembershipEpochs(
      ctx.storage,
      (index) => remoteOwner(env, index),
      (at) => this.#alarms.wake("membership", at),
    );
    const db = new Database(ctx.storage.sql);
    this.#queues = new QueueTable(db);
    this.#consumers = new QueueConsumers(db, this.#queues);
    this.#registry = new QueueRegistry(db, this.#queues, this.#consumers);
    this.#manifests = new Manifests(db, this.#queues, this.#consumers, this.#registry);
    this.#bridges = new Bridges(db, this.#queues);
    this.#announcements = new Announcements(db, {
      object: (queueId, partition) => remoteDurableQueue(env, queueId, partition),
      config: (queueId) => this.#registry.config(queueId),
      wake: (at) => this.#alarms.wake("announcements", at),
      calls: CALLS_PER_EVENT[readConfig(env).plan],
    });
    this.#tickets = new Tickets(db, (at) => this.#alarms.wake("tickets", at));
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

  /** Keeps what a one-time ticket stands for. */
  issueTicket(ticket: string, bearer: string): Promise<Refusal | null> {
    return this.#tickets.issue(ticket, bearer);
  }

  /** Uses a ticket up; null = it is good for nothing. */
  redeemTicket(ticket: string): string | null {
    return this.#tickets.redeem(ticket);
  }

  // Durable queues. A queue is named by its name or its id.

  resolve(nameOrId: string): Answer<ResolvedQueue> {
    return answered(() => this.#registry.resolve(nameOrId));
  }

  /** Every queue, with no more than so many partitions in all. */
  census(maxPartitions: number): CountedQueue[] {
    return this.#registry.census(maxPartitions);
  }

  /** A queue's object has started and knows nothing yet; null = there is no such queue. */
  openPartition(queueId: string, partition: string): QueueConfig | null {
    return this.#registry.openPartition(queueId, partition);
  }

  createQueue(name: string, settings: QueueSettings): Answer<QueueRecord> {
    return answered(() => this.#registry.create(name, settings));
  }

  /** Those of these names, or all. Pages count from 1. */
  listQueues(names: string[], page: number, perPage: number): QueuePage {
    return this.#registry.list(names, page, perPage);
  }

  getQueue(nameOrId: string): Answer<QueueRecord> {
    return answered(() => this.#registry.get(nameOrId));
  }

  /** What is not given is as in `base`; null = it stays. */
  changeQueue(
    nameOrId: string,
    name: string | undefined,
    settings: Partial<QueueSettings>,
    base: QueueSettings | null,
  ): Promise<Answer<QueueRecord>> {
    return this.#change(() => this.#registry.change(nameOrId, name, settings, base));
  }

  /** The queue goes, and everything that it holds. */
  deleteQueue(nameOrId: string): Promise<Answer<QueueRecord>> {
    return this.#change(() => this.#registry.remove(nameOrId));
  }

  getConsumer(queue: string, consumerId: string): Answer<ConsumerRecord> {
    return answered(() => this.#consumers.get(this.#queues.get(queue), consumerId));
  }

  /** One that is there with the same settings is answered as it is. */
  createConsumer(nameOrId: string, draft: ConsumerDraft): Promise<Answer<ConsumerRecord>> {
    return this.#change(() => {
      const queue = this.#queues.get(nameOrId);
      const held = this.#consumers.named(queue.queue_id, draft.name);
      return held !== undefined && isSame(held.config, draft) ? held : this.#consumers.add(queue, draft, null);
    });
  }

  replaceConsumer(nameOrId: string, consumerId: string, draft: ConsumerDraft): Promise<Answer<ConsumerRecord>> {
    return this.#change(() => this.#consumers.replace(this.#queues.get(nameOrId), consumerId, draft));
  }

  deleteConsumer(nameOrId: string, consumerId: string): Promise<Answer<ConsumerRecord>> {
    return this.#change(() => {
      const queue = this.#queues.get(nameOrId);
      const consumer = this.#consumers.get(queue, consumerId);
      this.#consumers.remove(queue.queue_id, consumerId);
      return consumer;
    });
  }

  /** All of it or nothing. */
  applyManifest(manifest: Manifest): Promise<Answer<AppliedManifest>> {
    return this.#change(() => this.#manifests.apply(manifest));
  }

  /** Answers when the purge began, by which {@link endPurge} knows it. */
  startPurge(nameOrId: string): Answer<number> {
    return answered(() => this.#registry.startPurge(nameOrId));
  }

  endPurge(queueId: string, startedAt: number): void {
    this.#registry.endPurge(queueId, startedAt);
  }

  purgeState(nameOrId: string): Answer<PurgeState> {
    return answered(() => this.#registry.purgeState(nameOrId));
  }

  listBridges(): Bridge[] {
    return this.#bridges.list();
  }

  /** Where the messages of a Cloudflare Queue go; null = nobody has said. */
  bridge(source: string): Bridge | null {
    return this.#bridges.find(source);
  }

  putBridge(source: string, target: BridgeTarget): Answer<Bridge> {
    return answered(() => this.#bridges.put(source, target));
  }

  deleteBridge(source: string): Answer<Bridge> {
    return answered(() => this.#bridges.remove(source));
  }

  /** Changes everything or nothing, and tells whom it concerns. */
  async #change<T>(act: () => T): Promise<Answer<T>> {
    const answer = answered(() => this.ctx.storage.transactionSync(act));
    if (!isQueueRefusal(answer)) await this.#announcements.flush();
    return answer;
  }

  override async alarm(): Promise<void> {
    await this.#alarms.ring();
  }
}

/** Refusals travel as data: a thrown error would be logged as a crash. */
function answered<T>(act: () => T): Answer<T> {
  try {
    return act();
  } catch (error) {
    if (error instanceof QueueError) return refuseQueue(error.code, error.cause);
    throw error;
  }
}
