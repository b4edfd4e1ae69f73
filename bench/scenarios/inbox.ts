import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Scenario } from "../bench.ts";
import { Connection, post } from "../client.ts";
import { interleave } from "../measure.ts";
import { residentMegabytes } from "../memory.ts";
import { ack, freshQueues, metrics, pop, push } from "../requests.ts";
import type { Workerd } from "../workerd.ts";

const REQUESTERS = 8;
const RESPONDERS = 4;
const INBOXES = 20_000;
const IDLE_S = 5;
const WAIT_MS = 10_000;
const GROUP = "workers";

/** Request and reply as the protocol's guide does it: the requester waits on an inbox that the request names. */
export const inboxes: Scenario = {
  name: "inbox",
  async run(bench) {
    await rates(bench);
    await leftovers(bench);
  },
};

async function rates(bench: Bench): Promise<void> {
  const desk = await Desk.open(bench.broker.port);
  const count = bench.some(500);
  const [figure, reference] = await interleave(bench.rounds, [
    () => desk.ask(count, true),
    () => desk.ask(count, false),
  ]);
  const unit = "requests and replies/s, reference: inbox reused";
  bench.report({ name: "request/reply, a fresh inbox each", figure, reference, unit, bar: { atLeast: 0.8 } });
  await desk.close();
}

/** What 20,000 inboxes leave behind, in memory and on disk, on a broker that collects them all the while. */
async function leftovers(bench: Bench): Promise<void> {
  const broker = await bench.start({ EPHEMERAL_IMPLICIT_IDLE_S: IDLE_S });
  // Every owner is awake and has its file before the counting begins.
  await askAll(broker, bench.some(2000), true);
  const before = { megabytes: await residentMegabytes(broker.pid), files: await files(broker) };
  const count = bench.some(INBOXES);
  await askAll(broker, count, true);
  const used = await residentMegabytes(broker.pid);
  const note = (await collected(broker)) ? "" : "not all of them are collected";
  // V8 gives memory back when it is at work.
  await askAll(broker, bench.some(2000), false);
  const left = await residentMegabytes(broker.pid);
  const unit = "MB of workerd, reference: before";
  bench.report({ name: `memory after ${count} fresh inboxes`, figure: used, reference: before.megabytes, unit });
  bench.report({ name: "memory once they are collected", figure: left, reference: before.megabytes, unit, note });
  bench.report({ name: "files left by them", figure: (await files(broker)) - before.files, unit: "files", limit: 0 });
  await broker.stop();
}

async function askAll(broker: Workerd, count: number, fresh: boolean): Promise<void> {
  const desk = await Desk.open(broker.port);
  await desk.ask(count, fresh);
  await desk.close();
}

/** Waits until the broker has forgotten its idle inboxes. */
async function collected(broker: Workerd): Promise<boolean> {
  const connection = await Connection.open(broker.port);
  const until = Date.now() + 3 * IDLE_S * 1000;
  try {
    while (Date.now() < until) {
      await sleep(500);
      const { body } = await connection.send(metrics);
      const queues = /^waggle_ephemeral_queues (\d+)$/m.exec(body.toString())?.[1];
      if (queues === undefined) throw new Error("/metrics does not count queues");
      if (Number(queues) < 10) return true;
    }
    return false;
  } finally {
    connection.close();
  }
}

async function files({ dir }: Workerd): Promise<number> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  // What lies beside a database, its log and index, comes and goes with it.
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith(".sqlite")).length;
}

/** Requesters and responders at one queue of requests. */
class Desk {
  readonly #queue: string;
  readonly #requesters: Connection[];
  readonly #responders: Connection[];
  readonly #own = freshQueues(REQUESTERS);
  readonly #answering: Promise<unknown>;
  #open = true;

  private constructor(queue: string, requesters: Connection[], responders: Connection[]) {
    this.#queue = queue;
    this.#requesters = requesters;
    this.#responders = responders;
    this.#answering = Promise.all(responders.map((connection) => this.#answer(connection)));
    // A responder that fails leaves requests without an answer; they fail with a message of their own.
    this.#answering.catch(() => {});
  }

  static async open(port: number): Promise<Desk> {
    const [queue = ""] = freshQueues(1);
    const open = (count: number): Promise<Connection[]> =>
      Promise.all(Array.from({ length: count }, () => Connection.open(port)));
    return new Desk(queue, await open(REQUESTERS), await open(RESPONDERS));
  }

  /** Answers how many requests got their reply per second. */
  async ask(count: number, fresh: boolean): Promise<number> {
    let asked = 0;
    const startedAt = performance.now();
    await Promise.all(
      this.#requesters.map(async (connection, requester) => {
        while (asked++ < count) {
          const [inbox = ""] = fresh ? freshQueues(1) : [this.#own[requester]];
          const request = JSON.stringify({ queue: this.#queue, messages: [{ payload: { n: asked, replyTo: inbox } }] });
          await connection.send(post("/api/v1/ephemeral/push", request));
          const { body } = await connection.send(pop(inbox, { autoAck: true, timeout: WAIT_MS }));
          if (!body.includes("payload")) throw new Error(`no reply: ${body.toString()}`);
        }
      }),
    );
    return (count * 1000) / (performance.now() - startedAt);
  }

  async #answer(connection: Connection): Promise<void> {
    const next = pop(this.#queue, { group: GROUP, batch: 10, timeout: WAIT_MS });
    while (this.#open) {
      const { body } = await connection.send(next);
      const { messages } = JSON.parse(body.toString()) as { messages: { id: string; payload: { replyTo: string } }[] };
      for (const { payload } of messages) await connection.send(push(payload.replyTo, 1, 100));
      if (messages.length > 0) {
        const ids = messages.map(({ id }) => id);
        await connection.send(ack(this.#queue, ids, GROUP));
      }
    }
  }

  async close(): Promise<void> {
    this.#open = false;
    for (const connection of [...this.#requesters, ...this.#responders]) connection.close();
    await this.#answering.catch(() => {});
  }
}
