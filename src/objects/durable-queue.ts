import { DurableObject } from "cloudflare:workers";
import messages from "../../migrations/durable-queue/0001_messages.sql";
import moments from "../../migrations/durable-queue/0002_moments.sql";
import { CALLS_PER_EVENT, readConfig, type Config, type Env } from "../config.ts";
import type { QueueConfig } from "../contract/queue-config.ts";
import { isQueueRefusal, refuseQueue, type QueueRefusal } from "../contract/queue-errors.ts";
import { CallBudget } from "../delivery/call-budget.ts";
import type { Cursor } from "../durable/cursor.ts";
import { Database } from "../durable/database.ts";
import type { EjectCursor } from "../durable/eject-cursor.ts";
import type {
  Backlog,
  BacklogDetail,
  DeadLetter,
  ImportedMessage,
  PackedMessages,
  PeekedMessage,
  PulledMessage,
  Settlement,
  SettleOutcome,
} from "../durable/message.ts";
import type { EjectedPage } from "../durable/moment.ts";
import { MAX_MOMENTS } from "../durable/moments.ts";
import { Partition } from "../durable/partition.ts";
import type { PeekedRun } from "../durable/views.ts";
import { DeadLetters } from "./dead-letters.ts";
import { Deliveries } from "./deliveries.ts";
import { migrate } from "./migrate.ts";
import { NO_BACKLOG, statusOf } from "./partition-status.ts";
import { PullWaiters } from "./pull-waiters.ts";
import { pullerOf } from "./puller.ts";
import type { BegunMoment, DurableQueueMethods, PartitionStatus } from "./queue-protocol.ts";
import { remoteDeclarations, remoteDurableQueue } from "./remote.ts";
import { SendGate } from "./send-gate.ts";
import { readStoredConfig, storeConfig } from "./stored-config.ts";
import { Wakes } from "./wakes.ts";

/** Bodies that wait for the disk are the only thing in memory that a client can pile up. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/**
 * One partition of a durable queue. This class only joins the parts: `Partition` decides what becomes of messages, `delivery`
 * speaks to consumers, `Wakes` keeps the deadlines. Every change is one turn, whose writes are durable before anybody hears
 * of it: the platform holds back replies and outgoing calls until then.
 */
export class DurableQueue extends DurableObject<Env> implements DurableQueueMethods {
  readonly #config: Config;
  readonly #queueId: string;
  readonly #name: string;
  readonly #db: Database;
  readonly #wakes: Wakes;
  readonly #budget: CallBudget;
  readonly #deadLetters: DeadLetters;
  readonly #deliveries: Deliveries;
  readonly #pulls = new PullWaiters();
  readonly #gate: SendGate<Backlog | QueueRefusal>;
  /** null = not configured, or deleted. */
  #partition: Partition | null = null;
  #opening: Promise<Partition | null> | null = null;
  #isResuming = false;
  /** Ids are never used again: what was deleted stays so. */
  #isDeleted = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#config = readConfig(env);
    const name = ctx.id.name ?? "";
    const colon = name.indexOf(":");
    this.#queueId = name.slice(0, colon);
    this.#name = name.slice(colon + 1);
    this.#db = new Database(ctx.storage.sql);
    this.#budget = new CallBudget(CALLS_PER_EVENT[this.#config.plan]);
    this.#wakes = new Wakes(ctx.storage, () => this.#turn(() => {}));
    this.#gate = new SendGate(ctx.storage, (packed) => this.#store(packed));
    this.#deadLetters = new DeadLetters(name, this.#budget, {
      receive: (queueId, source, letters) => remoteDurableQueue(env, queueId, this.#name).receive(source, letters),
      turn: (act) => this.#turn(act),
    });
    this.#deliveries = new Deliveries(env, () => this.#turn(() => {}));
    void ctx.blockConcurrencyWhile(async () => {
      await this.#wakes.load();
      const config = readStoredConfig(ctx.storage, this.#db);
      if (config === null) return;
      this.#start(config);
      // Whatever has woken it: what became due meanwhile goes on, and an alarm that was lost is set again.
      this.#turn(() => {});
    });
  }

  #start(config: QueueConfig): Partition {
    migrate(this.ctx.storage, [messages, moments]);
    const effects = {
      log: (event: string, details: Record<string, unknown>) =>
        console.log({ event, queue: config.name, partition: this.#name, ...details }),
    };
    this.#partition = new Partition(this.#db, this.#name, config, Date.now(), effects);
    return this.#partition;
  }

  /** The partition; null = its queue does not exist. */
  #open(): Partition | null | Promise<Partition | null> {
    return this.#partition ?? (this.#opening ??= this.#firstOpen().finally(() => (this.#opening = null)));
  }

  async #firstOpen(): Promise<Partition | null> {
    const config = await remoteDeclarations(this.env).openPartition(this.#queueId, this.#name);
    // The queue may have been deleted, or configured, while it was asked for.
    if (this.#isDeleted || this.#partition !== null || config === null) return this.#partition;
    const partition = this.#start(config);
    storeConfig(this.#db, config);
    return partition;
  }

  /** Everything that changes anything goes through here. */
  #turn<T>(act: (partition: Partition, now: number) => T): T | null {
    const partition = this.#partition;
    if (partition === null) return null;
    const now = Date.now();
    try {
      this.#deliveries.putDown(partition);
      const result = act(partition, now);
      const deliveries = partition.handOver(now, () => this.#budget.take());
      this.#deadLetters.ship(partition, now);
      partition.save();
      for (const delivery of deliveries) void this.#deliveries.send(partition, delivery);
      this.#settle(partition, now);
      return result;
    } catch (error) {
      // Memory and disk may disagree now: the object starts again from the disk.
      console.error(error);
      this.ctx.abort(`a turn of ${this.ctx.id.name} failed: ${String(error)}`);
      throw error;
    }
  }

  /** Sees to it that there will be a next turn. */
  #settle(partition: Partition, now: number): void {
    const times = [
      partition.nextDeadline(now),
      this.#deadLetters.deadline(partition),
      this.#pulls.wake(partition, now),
    ];
    let isBusy = this.#deadLetters.isBusy;
    for (const { flights } of partition.cursors) isBusy ||= flights.size > 0;
    const deadline = times.reduce<number>((first, time) => Math.min(first, time ?? Infinity), Infinity);
    if (this.#budget.isSpent && (isBusy || deadline <= now)) {
      this.#resume();
      isBusy = true;
    }
    const isWaiting = deadline === Infinity || this.#isResuming;
    this.#wakes.settle(now, isWaiting ? undefined : deadline, isBusy);
  }

  /** This event has made as many calls as it may: another one goes on. */
  #resume(): void {
    if (this.#isResuming) return;
    this.#isResuming = true;
    const self = this.env.DURABLE_QUEUE.get(this.ctx.id) as unknown as { goOn(): Promise<void> };
    self.goOn().catch((error: unknown) => {
      // The alarm that is set while there is work takes it up.
      this.#isResuming = false;
      console.error(error);
    });
  }

  /** A new event: called by this object itself, and by its alarm. */
  async goOn(): Promise<void> {
    this.#isResuming = false;
    this.#budget.refill();
    this.#turn(() => {});
  }

  override async alarm(): Promise<void> {
    this.#wakes.rang();
    // Nothing is awaited: an alarm that takes long holds back the next one.
    await this.goOn();
  }

  async send(queue: string, packed: PackedMessages): Promise<Backlog | QueueRefusal> {
    const partition = await this.#open();
    if (partition === null || partition.config.name !== queue) return unknownQueue(queue);
    if (this.#gate.waitingBytes + packed.bodies.byteLength > MAX_WAITING_BYTES) {
      return refuseQueue(10250, `the partition ${this.#name} is sent more than its disk takes; send it again later`);
    }
    return this.#gate.send(packed);
  }

  #store(packed: PackedMessages[]): Backlog | QueueRefusal {
    const { queueMaxBytes } = this.#config;
    const answer = this.#turn((partition, now): Backlog | QueueRefusal => {
      const bytes = packed.reduce((sum, { bodies }) => sum + bodies.byteLength, 0);
      const held = partition.storedBytes;
      if (held + bytes > queueMaxBytes) {
        return refuseQueue(
          10251,
          `the partition ${this.#name} holds ${held} bytes; with these ${bytes} it would pass its limit of ${queueMaxBytes}`,
        );
      }
      partition.send(packed, now, () => this.#budget.take());
      return partition.backlog();
    });
    return answer ?? unknownQueue(this.#queueId);
  }

  async receive(source: string, letters: DeadLetter[]): Promise<null | QueueRefusal> {
    if ((await this.#open()) === null) return unknownQueue(this.#queueId);
    return this.#turn((partition, now) => {
      if (!this.#hasRoom(partition, partition.roomForLetters(source, letters))) {
        return refuseQueue(10251, `the partition ${this.#name} of the dead-letter queue is full`);
      }
      partition.receive(source, letters, now);
      return null;
    });
  }

  async import(queue: string, source: string, given: ImportedMessage[]): Promise<number | QueueRefusal> {
    const open = await this.#open();
    if (open === null || open.config.name !== queue) return unknownQueue(queue);
    const imported = this.#turn((partition, now): number | QueueRefusal => {
      if (!this.#hasRoom(partition, partition.roomForImport(source, given))) {
        return refuseQueue(10251, `the partition ${this.#name} is full`);
      }
      return partition.import(source, given, now);
    });
    return imported ?? unknownQueue(queue);
  }

  #hasRoom({ storedBytes }: Partition, bytes: number): boolean {
    return bytes === 0 || storedBytes + bytes <= this.#config.queueMaxBytes;
  }

  async pull(
    consumer: string | null,
    limit: number,
    visibilityTimeoutMs: number | null,
  ): Promise<PulledMessage[] | QueueRefusal> {
    const cursor = await this.#puller(consumer);
    if (isQueueRefusal(cursor)) return cursor;
    const timeoutMs =
      visibilityTimeoutMs ?? (cursor.consumer?.type === "http_pull" ? cursor.consumer.visibilityTimeoutMs : 0);
    return this.#turn((partition, now) => partition.pull(cursor, now, limit, timeoutMs)) ?? [];
  }

  async whenReady(consumer: string | null, waitMs: number): Promise<boolean | QueueRefusal> {
    const cursor = await this.#puller(consumer);
    if (isQueueRefusal(cursor)) return cursor;
    const partition = this.#partition;
    if (partition?.hasReady(cursor, Date.now()) === true) return true;
    const waiting = this.#pulls.wait(cursor.number, waitMs);
    this.#turn(() => {});
    return waiting;
  }

  async #puller(consumer: string | null): Promise<Cursor | QueueRefusal> {
    const partition = await this.#open();
    return partition === null ? unknownQueue(this.#queueId) : pullerOf(partition, consumer);
  }

  async settle(settlements: Settlement[]): Promise<SettleOutcome[]> {
    await this.#open();
    const act = (partition: Partition, now: number) => settlements.map((one) => partition.settle(one, now));
    return this.#turn(act) ?? settlements.map(() => "unknown");
  }

  async configure(config: QueueConfig): Promise<void> {
    const known = this.#partition?.config.version ?? -1;
    if (config.version < known || this.#isDeleted) return;
    if (this.#partition === null) this.#start(config);
    storeConfig(this.#db, config);
    this.#turn((partition, now) => partition.configure(config, now));
    this.#pulls.clear();
  }

  async destroy(): Promise<void> {
    this.#isDeleted = true;
    this.#deliveries.forget();
    this.#partition = null;
    this.#pulls.clear();
    this.#wakes.stop();
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  async backlog(): Promise<BacklogDetail> {
    await this.#open();
    return this.#turn((partition, now) => partition.backlogDetail(now)) ?? NO_BACKLOG;
  }

  async status(): Promise<PartitionStatus> {
    await this.#open();
    this.#turn(() => {});
    const partition = this.#partition;
    return statusOf(partition, this.#name, {
      nextAlarmAt: this.#wakes.alarmAt,
      rowsWritten: this.#db.rowsWritten + this.#wakes.alarmsSet,
    });
  }

  async peek(limit: number): Promise<PeekedMessage[]> {
    await this.#open();
    return this.#turn((partition, now) => partition.peek(now, limit)) ?? [];
  }

  async peekFrom(limit: number, from: number | null): Promise<PeekedRun> {
    await this.#open();
    return this.#turn((partition, now) => partition.peekFrom(now, limit, from)) ?? { messages: [], next: 0 };
  }

  async eject(ejectId: string): Promise<BegunMoment | QueueRefusal> {
    if ((await this.#open()) === null) return unknownQueue(this.#queueId);
    return this.#turn((partition, now) => partition.eject(ejectId, now)) ?? this.#tooManyMoments();
  }

  async ejectPage(cursor: EjectCursor, maxBytes: number): Promise<EjectedPage | QueueRefusal> {
    if ((await this.#open()) === null) return unknownQueue(this.#queueId);
    return this.#turn((partition, now) => partition.ejectPage(cursor, maxBytes, now)) ?? this.#tooManyMoments();
  }

  #tooManyMoments(): QueueRefusal {
    return refuseQueue(10250, `the partition ${this.#name} is being ejected ${MAX_MOMENTS} times already; try later`);
  }

  async purgeRefs(refs: string[]): Promise<string[]> {
    await this.#open();
    return this.#turn((partition, now) => refs.filter((ref) => !partition.purgeOne(ref, now))) ?? refs;
  }

  async purge(): Promise<number> {
    await this.#open();
    return this.#turn((partition) => partition.purge()) ?? 0;
  }
}

function unknownQueue(queue: string): QueueRefusal {
  return refuseQueue(10104, `there is no queue ${JSON.stringify(queue)} here`);
}
