import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { eventually } from "./support.ts";
import { Dev, writeWaggleConfig } from "./wrangler-dev.ts";

const SECRET = "known to both";

interface Batch {
  queue: string;
  messages: { id: string; attempts: number; content_type: string; body: unknown }[];
}
interface Status {
  result: { status: { last_outcome: string | null; last_error: string | null; dead_lettered: number } };
}
interface Metrics {
  result: { backlog_count: number };
}

let dir: string;
let waggle: Dev;
let server: Server | null = null;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "waggle-http-consumer-"));
  waggle = await Dev.wrangler(dir, [await writeWaggleConfig(dir)], { WRANGLER_REGISTRY_PATH: join(dir, "registry") });
}, 60_000);

afterAll(async () => {
  await waggle?.stop();
  await rm(dir, { recursive: true, force: true });
});

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = null;
});

/** A receiver that takes nothing which is not signed. */
async function receiver(port: number, answer: (batch: Batch, response: ServerResponse) => void): Promise<number> {
  server = createServer((request, response) => {
    void (async () => {
      if (request.method === "HEAD") return response.writeHead(405).end();
      const body = await text(request);
      if (!isSigned(request, body)) return response.writeHead(401).end();
      return answer(JSON.parse(body) as Batch, response);
    })();
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function isSigned(request: IncomingMessage, body: string): boolean {
  const [, time, given] = /^t=(\d+),v1=([0-9a-f]+)$/.exec(String(request.headers["waggle-signature"])) ?? [];
  return given === createHmac("sha256", SECRET).update(`${time}.${body}`).digest("hex");
}

async function declare(queue: string, port: number, settings: object = {}): Promise<void> {
  await waggle.call("POST", "queues", { queue_name: queue });
  const url = `http://127.0.0.1:${port}/hook`;
  await waggle.call("POST", `queues/${queue}/consumers`, { type: "http", url, secret: SECRET, settings });
}

function send(queue: string, body: unknown): Promise<unknown> {
  return waggle.call("POST", `queues/${queue}/messages`, { body });
}

async function backlog(queue: string): Promise<number> {
  return (await waggle.call<Metrics>("GET", `queues/${queue}/metrics`)).result.backlog_count;
}

async function status(queue: string) {
  return (await waggle.call<Status>("GET", `queues/${queue}`)).result.status;
}

it("is sent signed batches, and again what its answer names", async () => {
  const batches: Batch[] = [];
  const port = await receiver(0, (batch, response) => {
    batches.push(batch);
    const again = batch.messages.filter(({ attempts, body }) => attempts === 1 && (body as { n: number }).n === 1);
    response.end(JSON.stringify({ retries: again.map(({ id }) => ({ id, delay_seconds: 1 })) }));
  });
  await declare("signed", port);
  for (const n of [0, 1, 2]) await send("signed", { n });
  await eventually(() => backlog("signed"), 0);
  const seen = batches.flatMap(({ messages }) => messages.map(({ body, attempts }) => [body, attempts]));
  expect(seen).toEqual([
    [{ n: 0 }, 1],
    [{ n: 1 }, 1],
    [{ n: 2 }, 1],
    [{ n: 1 }, 2],
  ]);
  expect(batches[0]).toMatchObject({ queue: "signed", messages: [{ content_type: "json" }] });
});

it("costs no attempt while it is not there, and is delivered to once it is", async () => {
  const port = await receiver(0, () => {});
  server?.close();
  await declare("absent", port, { max_retries: 0 });
  await send("absent", "hello");
  await eventually(async () => (await status("absent")).last_outcome, "unreachable");
  expect((await status("absent")).last_error).toContain(`no answer from 127.0.0.1:${port}`);
  // Longer than the first wait before it is tried again.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(await backlog("absent")).toBe(1);
  const attempts: number[] = [];
  await receiver(port, ({ messages }, response) => {
    attempts.push(...messages.map((message) => message.attempts));
    response.end();
  });
  await eventually(() => backlog("absent"), 0, 20_000);
  expect(attempts).toEqual([1]);
});

it("does not spare a message whose consumer hangs up on it every time", async () => {
  const port = await receiver(0, (_, response) => response.socket?.destroy());
  await declare("poison", port, { max_retries: 1 });
  await send("poison", "hello");
  await eventually(() => backlog("poison"), 0, 20_000);
  expect(await status("poison")).toMatchObject({ last_outcome: "error" });
});
