import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Placement } from "../../src/placement.ts";
import { Load, Random, sleep, type Address, type Delivered, type Pushed } from "./rolling-load.ts";
import { Client, eventually } from "./support.ts";

/** How long the load runs. `WAGGLE_ROLLING_S=60 npx vitest run test/process/rolling.test.ts` is the full minute. */
const ROLLING_MS = Number(process.env["WAGGLE_ROLLING_S"] ?? 25) * 1000;
const seed = Number(process.env["WAGGLE_SEED"] ?? Math.floor(Math.random() * 0x7fffffff));

const OWNERS = [8, 12, 5];
/** `CHECKPOINT_MS`, and the write itself. */
const CHECKPOINT = 1200;
const LEASE_S = 2;
const GROUPS = ["fast", "mixed", "late"];
/** One is declared, one is not. */
const QUEUES = ["rooms", "signals"];
/** A new partition comes this often. */
const FRESH_MS = 500;

const build = inject("build");
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "waggle-rolling-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** From one start of the broker to the kill that ended it. */
interface Life {
  owners: number;
  killedAt: number;
}

/** The broker over all its lives. */
class Rolling {
  readonly address: Address = { url: "", life: -1 };
  readonly lives: Life[] = [];
  /** Partitions that were seen to be handed over, by the number of owners that made them move. */
  readonly handedOver = new Map<number, number>();
  #workerd: Workerd | null = null;

  async start(owners: number): Promise<void> {
    const vars = {
      OWNERS: owners,
      EPHEMERAL_LEASE_S: LEASE_S,
      EPHEMERAL_RETRY_LIMIT: 1000,
      EPHEMERAL_QUEUE_MAX_LENGTH: 1e6,
    };
    this.#workerd = await startWorkerd({ build, dir, vars });
    this.lives.push({ owners, killedAt: Infinity });
    Object.assign(this.address, { url: this.#workerd.url, life: this.lives.length - 1 });
  }

  async kill(): Promise<void> {
    await this.noteHandedOver();
    const life = this.lives.at(-1);
    if (life !== undefined) life.killedAt = Date.now();
    await this.#workerd?.kill();
  }

  async noteHandedOver(): Promise<void> {
    const owners = this.lives.at(-1)?.owners ?? 0;
    const text = await (await fetch(`${this.address.url}/metrics`)).text();
    const count = Number(/^waggle_ephemeral_handed_over_total (\d+)$/m.exec(text)?.[1]);
    this.handedOver.set(owners, Math.max(count, this.handedOver.get(owners) ?? 0));
  }

  get log(): string {
    return this.#workerd?.log() ?? "";
  }

  async end(): Promise<void> {
    await this.#workerd?.kill();
  }

  /** Whether the broker lived on for long enough after a push to have it on the disk. */
  mustHave({ answeredAt, life }: Pushed): boolean {
    return (this.lives[life]?.killedAt ?? 0) - answeredAt > CHECKPOINT;
  }
}

/** Kills and restarts the broker at random until the phase is over; soon after a change it is in the middle of its moves. */
async function phase(broker: Rolling, random: Random, owners: number, until: number): Promise<void> {
  for (let livesMs = random.between(60, 900); ; livesMs = random.between(2500, 6000)) {
    const left = until - Date.now();
    await sleep(Math.min(livesMs, Math.max(0, left)));
    if (left <= livesMs) return;
    await broker.kill();
    await broker.start(owners);
  }
}

function keyOf({ queue, partition, producer, n }: Pushed | Delivered): string {
  return `${queue} ${partition} ${producer}:${n}`;
}

/** What each group must have been handed and was not. */
function lost(broker: Rolling, load: Load, must: readonly Pushed[]): unknown[] {
  return GROUPS.flatMap((group) => {
    const seen = new Set(load.delivered.filter((delivered) => delivered.group === group).map(keyOf));
    const missing = must.filter((pushed) => !seen.has(keyOf(pushed)));
    return missing.map((pushed) => ({
      group,
      ...pushed,
      owners: OWNERS.map((owners) => new Placement(owners).owner(pushed.queue, pushed.partition)),
      beforeKills: broker.lives.map(({ killedAt }) => killedAt - pushed.answeredAt),
    }));
  });
}

/**
 * First deliveries that came in another order than the messages of one producer were pushed, within one life of the
 * broker. Of two pops under way at the same time nobody knows which was served first.
 */
function outOfOrder({ delivered }: Load): unknown[] {
  const seen = new Set<string>();
  const first = delivered.filter((delivery) => {
    const key = `${delivery.group} ${keyOf(delivery)}`;
    const isFirst = !seen.has(key);
    seen.add(key);
    return isFirst && delivery.attempts === 1;
  });
  const lines = Map.groupBy(first, ({ group, queue, partition, producer, life }) =>
    [group, queue, partition, producer, life].join(" "),
  );
  return [...lines.values()].flatMap((line) => {
    // In the order in which they were heard of; within an answer, in its order.
    const later = line.toSorted((a, b) => a.askedAt - b.askedAt || a.place - b.place);
    let heard = 0;
    let newest: Delivered | null = null;
    let before: Delivered | null = null;
    return later.flatMap((delivery) => {
      for (let at = line[heard]; at !== undefined && at.heardAt < delivery.askedAt; at = line[++heard]) {
        if (newest === null || at.n > newest.n) newest = at;
      }
      const wrong = [newest, before?.askedAt === delivery.askedAt ? before : null].find(
        (earlier) => earlier !== null && earlier.n > delivery.n,
      );
      before = delivery;
      return wrong ? [{ earlier: wrong, later: delivery }] : [];
    });
  });
}

it(
  "a rolling change of the number of owners loses nothing that is older than a checkpoint",
  { timeout: ROLLING_MS + 60_000 },
  async () => {
    console.log(`rolling: ${ROLLING_MS / 1000} s, repeat with WAGGLE_SEED=${seed}`);
    const random = new Random(seed);
    const broker = new Rolling();
    await broker.start(OWNERS[0] as number);
    const load = new Load(broker.address, random);
    const rooms = Array.from({ length: 30 }, (_, n) => (n === 0 ? "Default" : `room-${n}`));
    const signals = Array.from({ length: 6 }, (_, n) => (n === 0 ? "Default" : `signal-${n}`));
    await load.request("configure", { queue: "rooms", options: { maxLength: 1_000_000 } });
    for (const queue of QUEUES) for (const group of GROUPS) await load.pop(queue, group, "batch=1");
    await sleep(CHECKPOINT);

    for (let producer = 0; producer < 5; producer++) load.produce(producer, "rooms", rooms, 8);
    load.produce(5, "signals", signals, 20);
    for (const group of ["fast", "mixed"]) {
      load.consumeAny("rooms", group, 10);
      load.consumeNamed("rooms", group, rooms, 10);
      load.consumeAny("signals", group, 20);
    }
    load.consumeAny("rooms", "fast", 10);
    load.consumeNamed("signals", "mixed", signals, 40);
    // Leaves most of it for the end: what waits must come through every change.
    load.consumeNamed("rooms", "late", rooms, 200);

    const startedAt = Date.now();
    const fresh = setInterval(() => rooms.push(`fresh-${rooms.length}`), FRESH_MS);
    const roll = async () => {
      for (const [index, owners] of OWNERS.entries()) {
        if (index > 0) {
          await broker.kill();
          await broker.start(owners);
        }
        await phase(broker, random, owners, startedAt + (ROLLING_MS * (index + 1)) / OWNERS.length);
      }
    };
    await Promise.race([roll(), load.failure]);
    clearInterval(fresh);
    await load.stop();
    await broker.noteHandedOver();

    const client = new Client(broker.address.url);
    const must = load.pushed.filter((pushed) => broker.mustHave(pushed));
    const rings = new Set(must.flatMap(({ queue, partition }) => (queue === "rooms" ? [partition] : [])));
    const standing = async () => {
      const view = await client.get<{ owners: { partitions: string[] }[] }>("/api/v1/system/owners?queue=rooms");
      return view.owners.flatMap(({ partitions }, owner) => partitions.map((partition) => ({ partition, owner })));
    };
    const missing = async () => {
      const there = new Set((await standing()).map(({ partition }) => partition));
      return [...rings].filter((partition) => !there.has(partition)).join();
    };
    await eventually(missing, "", 20_000);
    await Promise.all(QUEUES.flatMap((queue) => GROUPS.map((group) => load.drain(queue, group, LEASE_S * 1000 + 500))));

    const { pushed, delivered, retries } = load;
    const counts = { pushed: pushed.length, must: must.length, delivered: delivered.length, retries };
    console.log({ lives: broker.lives.length, ...counts });
    expect(lost(broker, load, must).slice(0, 5), broker.log).toEqual([]);
    expect(outOfOrder(load).slice(0, 5), broker.log).toEqual([]);
    // The load has been one that can show a loss.
    expect(must.length).toBeGreaterThan(100);
    expect(retries).toBeGreaterThan(0);

    const placement = new Placement(OWNERS.at(-1) as number);
    const stands = await standing();
    expect(stands).toEqual(stands.map(({ partition }) => ({ partition, owner: placement.owner("rooms", partition) })));
    for (const changed of OWNERS.slice(1))
      expect(broker.handedOver.get(changed), `after ${changed}`).toBeGreaterThan(0);
    for (const queue of QUEUES) {
      const { pending, groups } = await client.get<{ pending: number; groups: { group: string; pending: number }[] }>(
        `/api/v1/ephemeral/queues/${queue}/depth`,
      );
      expect([pending, groups]).toMatchObject([0, GROUPS.toSorted().map((group) => ({ group, pending: 0 }))]);
      // Refused while anything is still between two owners.
      await load.request("reset", { queue });
    }
    await broker.end();
  },
);
