import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Bench } from "./bench.ts";
import { removeAtExit } from "./children.ts";
import { Client, Connection, get, post, type Answer } from "./client.ts";
import { startSimulator } from "./simulator.ts";
import { buildOf, MAIN, startWorkerd, type Build, type Workerd } from "./workerd.ts";

/** Queues by name, each with the batch size of its consumer; null = it has none. */
export type Queues = Record<string, number | null>;

/** A broker with a producer and a consumer Worker, which are the same whatever the broker. */
export interface Stand {
  /** Ports of the two. */
  producer: number;
  consumer: number;
  stop(): Promise<void>;
}

/** The broker on raw `workerd`, its Workers beside it. */
export interface WaggleStand extends Stand {
  workerd: Workerd;
  api: QueueApi;
}

/** With `helper`, the consumer is the same Worker with `waggle-mq/consumer` around it. */
export async function startWaggle({ build }: Bench, queues: Queues, helper = false): Promise<WaggleStand> {
  const sends = Object.keys(queues).map(
    (queue) => [queue, { service: MAIN, entrypoint: "Queue", props: { queue } }] as const,
  );
  const workerd = await startWorkerd({
    build,
    services: { CONSUMER: { service: "consumer" } },
    workers: {
      producer: workerOf("producer", build, { services: Object.fromEntries(sends) }),
      consumer: helper ? await helpedConsumer(build) : workerOf("consumer", build),
    },
  });
  const api = new QueueApi(workerd.url);
  for (const [queue, batchSize] of Object.entries(queues)) {
    await api.create(queue);
    if (batchSize !== null) await api.consume(queue, batchSize);
  }
  const port = (name: string): number => Number(new URL(workerd.urls[name] ?? "").port);
  return { workerd, producer: port("producer"), consumer: port("consumer"), api, stop: () => workerd.stop() };
}

/** The local simulator's own broker, with the same Workers. */
export async function startReference({ build }: Bench, queues: Queues): Promise<Stand> {
  return startSimulator({
    queues,
    producer: workerOf("producer", build),
    consumer: workerOf("consumer", build),
  });
}

const WORKERS = join(import.meta.dirname, "workers");

function workerOf(name: string, like: Build, rest: Partial<Build> = {}): Build {
  const modules = [`${name}.js`, "ledger.js", "stamps.js"].map((file) => ({
    name: file,
    path: join(WORKERS, file),
    type: "esModule" as const,
  }));
  return buildOf("", like, { modules, ...rest });
}

/** The helper is written in TypeScript: a bundle of it is made as for a deployment. */
async function helpedConsumer(like: Build): Promise<Build> {
  const dir = join(import.meta.dirname, ".build", `helped-${process.pid}`);
  removeAtExit(dir);
  const wrangler = join(import.meta.dirname, "..", "node_modules", ".bin", "wrangler");
  const config = join(WORKERS, "helped.toml");
  await promisify(execFile)(process.execPath, [wrangler, "deploy", "--dry-run", "--config", config, "--outdir", dir]);
  return buildOf(join(dir, "helped.js"), like);
}

/** Queues over HTTP, as far as the bench needs it. */
export class QueueApi {
  readonly #url: string;

  constructor(url: string) {
    this.#url = `${url}/api/v1/queues`;
  }

  async create(queue: string): Promise<void> {
    await this.#call("POST", "", { queue_name: queue });
  }

  async consume(queue: string, batchSize: number): Promise<void> {
    await this.#call("POST", `/${queue}/consumers`, {
      type: "worker",
      script_name: "consumer",
      settings: { batch_size: batchSize },
    });
  }

  async purge(queue: string): Promise<void> {
    await this.#call("POST", `/${queue}/purge`, { delete_messages_permanently: true });
  }

  async backlog(queue: string): Promise<number> {
    const { backlog_count } = (await this.#call("GET", `/${queue}/metrics`)) as { backlog_count: number };
    return backlog_count;
  }

  /** Rows that the objects of a queue have written. */
  async rowsWritten(queue: string): Promise<number> {
    const { status } = (await this.#call("GET", `/${queue}`)) as {
      status: { partitions: { rows_written: number }[] };
    };
    return status.partitions.reduce((sum, { rows_written }) => sum + rows_written, 0);
  }

  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const headers = { "content-type": "application/json" };
    const request = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
    const answer = await fetch(this.#url + path, request);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`);
    return (JSON.parse(text) as { result: unknown }).result;
  }
}

/** What a consumer Worker says of itself. */
export interface Ledger {
  seen: number;
  batches: number;
  missing: number;
  repeated: number;
}

/** Asks a consumer Worker. It is not part of any timed loop, and gets a connection of its own. */
export async function ask(port: number, path: string): Promise<Ledger> {
  const connection = await Connection.open(port);
  const { status, body }: Answer = await connection.send(get(path));
  connection.close();
  if (status !== 200) throw new Error(`${path} was answered ${status}: ${body.toString()}`);
  return JSON.parse(body.toString()) as Ledger;
}

/** When messages were sent, or came to the handler, by their number: ms of the process's clock. */
export async function stampsOf(port: number): Promise<number[]> {
  return (await (await fetch(`http://127.0.0.1:${port}/stamps`)).json()) as number[];
}

/** Waits until a consumer has been handed so many messages. */
export async function awaitSeen(port: number, count: number, limitMs = 180_000): Promise<void> {
  const until = Date.now() + limitMs;
  for (;;) {
    const { seen } = await ask(port, `/seen?count=${count}`);
    if (seen >= count) return;
    if (Date.now() > until) throw new Error(`the consumer was handed ${seen} of ${count} messages`);
  }
}

/** A body of an exact length that knows its number. */
export function bodyOf(number: number, bytes: number): string {
  const head = `{"n":${number},"user":"ada","text":"`;
  return `${head}${"x".repeat(Math.max(0, bytes - head.length - 2))}"}`;
}

export function send(queue: string, number: number, bytes: number): Buffer {
  return post(`/send/${queue}`, bodyOf(number, bytes));
}

export function sendBatch(queue: string, first: number, count: number, bytes: number): Buffer {
  return post(`/batch/${queue}`, batchBody(first, count, bytes));
}

export function batchBody(first: number, count: number, bytes: number): string {
  const messages = Array.from({ length: count }, (_, index) => `{"body":${bodyOf(first + index, bytes)}}`);
  return `[${messages.join(",")}]`;
}

/** Sends so many numbered messages, 100 at a time. */
export async function fill(port: number, queue: string, count: number, bytes: number): Promise<void> {
  const client = await Client.open(port, 4);
  await client.rate(count / 100, (index) => sendBatch(queue, 100 * index, 100, bytes), 200);
  client.close();
}
