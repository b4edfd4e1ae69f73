import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { buildOf, startWorkerd, type Build, type Workerd } from "../../bench/workerd.ts";

const ROUNDS = 20;
const SENDS = 2000;
const SENDERS = 8;
/** Of the consumer that fails. */
const MAX_RETRIES = 3;
const WORKERS = join(import.meta.dirname, "workers");

const build = inject("build");
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "waggle-durable-kill-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** `fails` = how often the first consumer fails; the second is there, or is deaf, or has no binding at all. */
async function start(fails: number, second: "there" | "deaf" | "unbound"): Promise<Workerd> {
  const consumer = (name: string, often: number) =>
    buildOf(join(WORKERS, "record.js"), build, {
      objects: name === "first" ? { RECORD: "Record" } : {},
      services: {},
      vars: { NAME: name, FAILS: often },
    });
  return startWorkerd({
    build,
    dir,
    services: {
      FIRST: { service: "first" },
      ...(second === "unbound" ? {} : { SECOND: { service: "second" } }),
    },
    workers: {
      first: consumer("first", fails),
      // Both write into the record of the first.
      second: second === "there" ? recordingFor("second") : buildOf(join(WORKERS, "deaf.js"), build),
    },
  });
}

function recordingFor(name: string): Build {
  return buildOf(join(WORKERS, "second.js"), build, {
    services: { RECORD: { service: "first", entrypoint: "Recorder" } },
    vars: { NAME: name },
  });
}

interface Result<T> {
  success: boolean;
  errors?: unknown;
  result: T;
}

async function api<T>(workerd: Workerd, method: string, path: string, body?: unknown): Promise<T> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const answer = (await (await fetch(`${workerd.url}/api/v1/queues${path}`, init)).json()) as Result<T>;
  if (!answer.success) throw new Error(JSON.stringify(answer));
  return answer.result;
}

async function declare(workerd: Workerd): Promise<void> {
  await api(workerd, "POST", "", { queue_name: "orders" });
  const settings = { batch_size: 10, max_wait_time_ms: 0 };
  await api(workerd, "POST", "/orders/consumers", {
    type: "worker",
    script_name: "FIRST",
    dead_letter_queue: "dead-first",
    settings: { ...settings, max_retries: MAX_RETRIES, max_concurrency: 2 },
  });
  // A kill may cost the second consumer an attempt, but not so many as this.
  await api(workerd, "POST", "/orders/consumers", {
    type: "worker",
    script_name: "SECOND",
    dead_letter_queue: "dead-second",
    settings: { ...settings, max_retries: ROUNDS + 1 },
  });
}

/** What became of the sends: answered, refused, or broken off by the kill. */
class Sends {
  readonly accepted = new Set<number>();
  readonly refused = new Set<number>();
  /** Of sends that should have gone well, while nobody was killing anything. */
  readonly failures: string[] = [];
  #next = 0;
  #stopped = false;
  #running: Promise<void>[] = [];

  /** Sends until it is stopped. */
  start(workerd: Workerd): void {
    this.#stopped = false;
    this.#running = Array.from({ length: SENDERS }, async () => {
      while (!this.#stopped) await this.#one(workerd, this.#next++);
    });
  }

  /** Resolves once so many have been made in all. */
  async reach(count: number): Promise<void> {
    while (this.#next < count) await sleep(1);
  }

  async #one(workerd: Workerd, number: number): Promise<void> {
    // Every tenth is one that the broker must refuse.
    const isBad = number % 10 === 9;
    const body = isBad ? { body: number, delay_seconds: -1 } : { body: number };
    try {
      const answer = await fetch(`${workerd.url}/api/v1/queues/orders/messages`, {
        method: "POST",
        body: JSON.stringify(body),
      });
      const { success, errors } = (await answer.json()) as Result<unknown>;
      if (!success && !isBad) this.failures.push(JSON.stringify(errors));
      (success ? this.accepted : this.refused).add(number);
    } catch (error) {
      // Nobody knows what became of it.
      if (!this.#stopped) this.failures.push(String(error));
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }
}

interface Handed {
  consumer: string;
  body: string;
  attempts: number;
}

async function drained(workerd: Workerd): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 100) {
    const { backlog_count } = await api<{ backlog_count: number }>(workerd, "GET", "/orders/metrics");
    if (backlog_count === 0) return;
    await sleep(100);
  }
  throw new Error(`not drained: ${JSON.stringify(await api(workerd, "GET", "/orders"))}`);
}

it("loses and invents nothing over twenty kills", { timeout: 240_000 }, async () => {
  const sends = new Sends();
  for (let round = 0; round < ROUNDS; round++) {
    const workerd = await start(0.3, (["there", "deaf", "there", "unbound"] as const)[round % 4] ?? "there");
    if (round === 0) await declare(workerd);
    sends.start(workerd);
    await sends.reach((SENDS / ROUNDS) * (round + 1));
    // In the middle of the load, or a while after its end.
    if (round % 3 === 2) {
      await sends.stop();
      await sleep(200);
    }
    const stopped = sends.stop();
    await workerd.kill();
    await stopped;
  }
  expect(sends.failures).toEqual([]);
  expect(sends.accepted.size, "sends that went well").toBeGreaterThan(SENDS * 0.7);

  const workerd = await start(0, "there");
  await drained(workerd);
  const handed = (await (await fetch(workerd.urls.first ?? "")).json()) as Handed[];
  const bodies = (consumer: string) =>
    new Set(handed.filter((one) => one.consumer === `orders/${consumer}`).map(({ body }) => Number(body)));
  const lettersOf = async (queue: string) => {
    const { messages } = await api<{ messages: { body: string }[] }>(workerd, "POST", `/${queue}/messages/peek`, {
      batch_size: 100,
    });
    return messages.map(({ body }) => Number(Buffer.from(body, "base64").toString()));
  };
  const letters = await lettersOf("dead-first");
  const [first, second] = [bodies("first"), bodies("second")];
  for (const number of sends.accepted) {
    expect(first.has(number), `${number} came to the first`).toBe(true);
    expect(second.has(number), `${number} came to the second`).toBe(true);
  }
  for (const number of sends.refused) expect(first.has(number) || second.has(number), `${number}`).toBe(false);
  expect(sends.refused.size).toBeGreaterThan(0);
  expect(new Set(letters).size, "each dead letter once").toBe(letters.length);
  expect(await lettersOf("dead-second"), "no dead letter for want of a consumer").toEqual([]);
  const most = Math.max(
    ...handed.filter(({ consumer }) => consumer === "orders/first").map(({ attempts }) => attempts),
  );
  expect(most).toBeLessThanOrEqual(MAX_RETRIES + 1);
  expect(most, "some failed").toBeGreaterThan(1);
  console.log(
    `${ROUNDS} kills: ${sends.accepted.size} sends accepted, ${sends.refused.size} refused, ${handed.length} deliveries, ${letters.length} dead letters`,
  );
  await workerd.stop();
});
