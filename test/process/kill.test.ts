import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Client, type Message } from "./support.ts";

const build = inject("build");
const dirs: string[] = [];

afterAll(() => Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true }))));

async function freshDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "waggle-kill-"));
  dirs.push(dir);
  return dir;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const ROUNDS = 20;
const CHECKPOINT_MS = 1000;
const PARTITIONS = Array.from({ length: 20 }, (_, i) => `room-${i}`);
const GROUPS = ["steady", "slow", "late"];
/** How many of the messages that come back after a kill are acked before the next one, by group. */
const ACKED = [1, 0.8, 0.6];

/** What the test knows of one message. Times are those of answers; `Infinity` = sent and not answered yet. */
interface Sent {
  partition: string;
  number: number;
  pushedAt: number;
  ackedAt: Map<string, number>;
}

/** Producers, one for each partition, and consumers, until the broker goes away under them. */
class Load {
  readonly #client: Client;
  readonly #sent: Map<number, Sent>;
  readonly #running: Promise<void>[];
  #stopped = false;
  /** Failures while nobody was killing anything. */
  readonly failures: unknown[] = [];

  constructor(client: Client, sent: Map<number, Sent>) {
    this.#client = client;
    this.#sent = sent;
    this.#running = [
      ...PARTITIONS.map((partition) => this.#produce(partition)),
      // The last group reads nothing under load: everything waits for it until after the kill.
      ...GROUPS.slice(0, -1).map((group) => this.#consume(group)),
    ];
  }

  async kill(workerd: Workerd): Promise<number> {
    this.#stopped = true;
    const killedAt = Date.now();
    await workerd.kill();
    await Promise.all(this.#running);
    return killedAt;
  }

  async #until(step: () => Promise<void>): Promise<void> {
    while (!this.#stopped) {
      try {
        await step();
      } catch (error) {
        if (!this.#stopped) this.failures.push(error);
      }
    }
  }

  #produce(partition: string): Promise<void> {
    return this.#until(async () => {
      const batch = [0, 1].map((): Sent => {
        const message = { partition, number: this.#sent.size, pushedAt: Infinity, ackedAt: new Map() };
        this.#sent.set(message.number, message);
        return message;
      });
      const messages = batch.map(({ number }) => ({ payload: number }));
      await this.#client.post("push", { queue: "load", partition, messages });
      const now = Date.now();
      for (const message of batch) message.pushedAt = now;
      await sleep(10);
    });
  }

  #consume(group: string): Promise<void> {
    return this.#until(async () => {
      const messages = await this.#client.pop(`queue=load&group=${group}&batch=40&wait=true&timeout=200`);
      await ackAll(this.#client, this.#sent, group, messages);
    });
  }
}

async function ackAll(client: Client, sent: Map<number, Sent>, group: string, messages: Message[]): Promise<void> {
  if (messages.length === 0) return;
  const acked = messages.map(({ payload }) => sentAs(sent, payload));
  for (const { ackedAt } of acked) ackedAt.set(group, Infinity);
  const acks = messages.map(({ id, attempts }) => ({ id, attempts }));
  const { results } = (await client.post("ack", { queue: "load", group, acks })) as { results: { outcome: string }[] };
  expect(results.every(({ outcome }) => outcome === "acked")).toBe(true);
  const now = Date.now();
  for (const { ackedAt } of acked) ackedAt.set(group, now);
}

function sentAs(sent: ReadonlyMap<number, Sent>, payload: unknown): Sent {
  const message = sent.get(Number(payload));
  if (message === undefined) throw new Error(`${JSON.stringify(payload)} was never pushed`);
  return message;
}

async function popAll(client: Client, group: string): Promise<Message[]> {
  const all: Message[] = [];
  for (;;) {
    const messages = await client.pop(`queue=load&group=${group}&batch=10000`);
    if (messages.length === 0) return all;
    all.push(...messages);
  }
}

async function counted(client: Client, name: string): Promise<number> {
  const text = await (await fetch(`${client.url}/metrics`)).text();
  return Number(new RegExp(`^waggle_ephemeral_${name} (\\d+)$`, "m").exec(text)?.[1]);
}

/** Compares what a group is handed after a kill with what it must and may be handed. */
function judge(sent: Map<number, Sent>, group: string, messages: readonly Message[], killedAt: number): void {
  const numbers = messages.map(({ payload }) => Number(payload));
  const came = new Set(numbers);
  expect(came.size, "each message once").toBe(numbers.length);
  const written = killedAt - CHECKPOINT_MS;
  const missing = [...sent.values()].filter(
    ({ number, pushedAt, ackedAt }) => pushedAt < written && !ackedAt.has(group) && !came.has(number),
  );
  expect(missing, `pushed before the window, lost for ${group}`).toEqual([]);
  const repeated = messages.filter(({ payload }) => (sentAs(sent, payload).ackedAt.get(group) ?? Infinity) < written);
  expect(repeated, `acked before the window, handed to ${group} again`).toEqual([]);
  for (const partition of PARTITIONS) {
    const here = messages.filter((message) => message.partition === partition).map(({ payload }) => Number(payload));
    expect(here, `order in ${partition} for ${group}`).toEqual(here.toSorted((a, b) => a - b));
  }
}

/** What did not come back is gone for good; what was acked in the window and came back is owed again. */
function forget(sent: Map<number, Sent>, came: Map<string, Message[]>): void {
  for (const [group, messages] of came) {
    for (const { payload } of messages) sentAs(sent, payload).ackedAt.delete(group);
  }
  const alive = new Set([...came.values()].flat().map(({ payload }) => Number(payload)));
  for (const { number, pushedAt, ackedAt } of sent.values()) {
    if (!alive.has(number) && (pushedAt === Infinity || ackedAt.size < GROUPS.length)) {
      for (const group of GROUPS) ackedAt.set(group, 0);
    }
  }
}

it(`what is older than a checkpoint survives kill -9 under load, ${ROUNDS} times in a row`, async () => {
  const dir = await freshDir();
  const sent = new Map<number, Sent>();
  let killedAt = 0;
  let wiped = 0;
  let delivered = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    const workerd = await startWorkerd({ build, dir });
    const client = new Client(workerd.url);
    if (round === 0) {
      const options = { leaseSeconds: 3600, retryLimit: 1000 };
      await client.post("configure", { queue: "load", options });
      for (const group of GROUPS) await client.pop(`queue=load&group=${group}`);
    } else {
      const came = new Map<string, Message[]>();
      for (const group of GROUPS) came.set(group, await popAll(client, group));
      for (const [group, messages] of came) {
        judge(sent, group, messages, killedAt);
        delivered += messages.length;
      }
      const before = await counted(client, "wipes_total");
      expect(before, "the end without a sleep is counted").toBeGreaterThan(wiped);
      wiped = before;
      forget(sent, came);
      for (const [i, group] of GROUPS.entries()) {
        const messages = came.get(group) ?? [];
        await ackAll(client, sent, group, messages.slice(0, Math.ceil(messages.length * (ACKED[i] ?? 1))));
      }
    }
    if (round === ROUNDS) {
      await workerd.stop();
      break;
    }
    const load = new Load(client, sent);
    await sleep(1100 + 600 * Math.random());
    killedAt = await load.kill(workerd);
    expect(load.failures).toEqual([]);
  }
  console.log(`${sent.size} pushed, ${delivered} handed over after kills`);
  expect(delivered).toBeGreaterThan(0);
});

it("with CHECKPOINT_MS = 0 nothing is written, and a kill takes everything", async () => {
  const dir = await freshDir();
  const vars = { CHECKPOINT_MS: 0 };
  const first = await startWorkerd({ build, dir, vars });
  const before = new Client(first.url);
  await before.post("configure", { queue: "declared", options: { maxLength: 7 } });
  await before.push("declared", [1, 2]);
  await before.push("implicit", [1, 2]);
  await before.pop("queue=declared&group=g");
  await sleep(CHECKPOINT_MS + 200);
  expect(await counted(before, "checkpoint_rows_total")).toBe(0);
  await first.kill();

  const second = await startWorkerd({ build, dir, vars });
  const after = new Client(second.url);
  const { queues } = await after.get<{ queues: unknown[] }>("/api/v1/ephemeral/queues");
  // A declaration is no content: it is kept for itself.
  expect(queues).toMatchObject([{ queue: "declared", depth: 0, options: { maxLength: 7 } }]);
  expect(await counted(after, "wipes_total")).toBe(0);
  await second.stop();
});

it("100,000 messages are there after a kill", async () => {
  const dir = await freshDir();
  const queues = Array.from({ length: 10 }, (_, i) => `backlog-${i}`);
  const payload = "x".repeat(98);
  const first = await startWorkerd({ build, dir, vars: { OWNERS: 1 } });
  const before = new Client(first.url);
  for (const queue of queues) {
    for (let pushed = 0; pushed < 10_000; pushed += 1000) await before.push(queue, Array(1000).fill(payload));
  }
  await sleep(CHECKPOINT_MS + 200);
  await first.kill();

  const second = await startWorkerd({ build, dir, vars: { OWNERS: 1 } });
  const after = new Client(second.url);
  const { queues: listed } = await after.get<{ queues: { queue: string; depth: number }[] }>(
    "/api/v1/ephemeral/queues",
  );
  expect(listed.map(({ queue, depth }) => [queue, depth])).toEqual(queues.map((queue) => [queue, 10_000]));
  await second.stop();
});
