import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Waggle } from "../../src/client/index.ts";
import { Client, eventually, type Message } from "./support.ts";

const build = inject("build");
const COUNT = 1000;
const ALL = Array.from({ length: COUNT }, (_, n) => n);

let workerd: Workerd | null = null;
let dir: string | null = null;

afterEach(async () => {
  await workerd?.kill();
  if (dir !== null) await rm(dir, { recursive: true, force: true });
  workerd = dir = null;
});

/** Receives messages of a queue until it is stopped, and acks them; answers what has come so far. */
type Consumer = { got: Message[]; stop: () => void; ended: Promise<void> };

function longPoll(client: Client, query: string): Consumer {
  const stop = new AbortController();
  const got: Message[] = [];
  const run = async () => {
    while (!stop.signal.aborted) {
      const messages = await client.pop(`${query}&batch=50&wait=true&timeout=500`);
      got.push(...messages);
      await client.post("ack", { queue: "q", group: "g", acks: messages.map(({ id }) => ({ id })) });
    }
  };
  return { got, stop: () => stop.abort(), ended: run().catch(() => {}) };
}

function serverSent(client: Client, query: string): Consumer {
  const abort = new AbortController();
  const got: Message[] = [];
  const run = async () => {
    const headers = { accept: "text/event-stream" };
    const response = await fetch(`${client.url}/api/v1/ephemeral/subscribe?${query}&prefetch=50`, {
      headers,
      signal: abort.signal,
    });
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk as Uint8Array);
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) if (event.startsWith("data: ")) got.push(JSON.parse(event.slice(6)) as Message);
    }
  };
  return { got, stop: () => abort.abort(), ended: run().catch(() => {}) };
}

function webSocket(client: Client, query: string): Consumer {
  const url = `${client.url.replace("http", "ws")}/api/v1/ephemeral/subscribe?${query}&prefetch=50`;
  const socket = new WebSocket(url);
  const got: Message[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.addEventListener("close", () => resolve());
  socket.addEventListener("error", () => resolve());
  socket.addEventListener("message", ({ data }) => {
    const { type, messages = [] } = JSON.parse(data as string) as { type: string; messages?: Message[] };
    if (type !== "messages") return;
    got.push(...messages);
    socket.send(JSON.stringify({ type: "ack", acks: messages.map(({ id }) => ({ id })) }));
  });
  return { got, stop: () => socket.close(), ended: promise };
}

interface Depth {
  partitions: { pending: number; bytes: number }[];
}

async function bytesHeld(client: Client): Promise<number> {
  const { partitions } = await client.get<Depth>("/api/v1/ephemeral/queues/q/depth");
  return partitions.reduce((sum, { bytes }) => sum + bytes, 0);
}

const WAYS = [
  ["long poll", longPoll],
  ["server-sent events", serverSent],
  ["WebSocket", webSocket],
] as const;

it.each(WAYS)("%s: 1,000 messages in order, acked, none missing", async (_, consume) => {
  workerd = await startWorkerd({ build });
  const client = new Client(workerd.url);
  const consumer = consume(client, "queue=q&group=g");
  for (let n = 0; n < COUNT; n += 20) await client.push("q", ALL.slice(n, n + 20));
  await eventually(() => Promise.resolve(consumer.got.length), COUNT);
  expect(consumer.got.map(({ payload }) => payload)).toEqual(ALL);
  expect(new Set(consumer.got.map(({ attempts }) => attempts))).toEqual(new Set([1]));
  await eventually(() => bytesHeld(client), 0);
  consumer.stop();
  await consumer.ended;
});

it.each(WAYS)("%s: after a kill the client subscribes again and misses nothing", async (_, consume) => {
  dir = await mkdtemp(join(tmpdir(), "waggle-subscribe-"));
  workerd = await startWorkerd({ build, dir });
  let client = new Client(workerd.url);
  // So that the kill finds messages in every state: the consumer begins when half of them are there.
  await client.pop("queue=q&group=g");
  for (let n = 0; n < COUNT; n += 100) await client.push("q", ALL.slice(n, n + 100));
  await new Promise((resolve) => setTimeout(resolve, 1300));
  const first = consume(client, "queue=q&group=g");
  while (first.got.length < 100) await new Promise((resolve) => setTimeout(resolve, 1));
  await workerd.kill();
  first.stop();
  await first.ended;

  workerd = await startWorkerd({ build, dir });
  client = new Client(workerd.url);
  const second = consume(client, "queue=q&group=g");
  const missing = () => {
    const seen = new Set([...first.got, ...second.got].map(({ payload }) => payload));
    return Promise.resolve(ALL.filter((n) => !seen.has(n)).length);
  };
  await eventually(missing, 0);
  await eventually(() => bytesHeld(client), 0);
  // What comes again is what had been taken in the last moment, and all of it stands in order.
  const again = second.got.map(({ payload }) => Number(payload));
  expect(again).toEqual(again.toSorted((a, b) => a - b));
  second.stop();
  await second.ended;
});

it(
  "the client hears at once that its queue was deleted, where the connection ends much later",
  { timeout: 8000 },
  async () => {
    workerd = await startWorkerd({ build });
    const client = new Client(workerd.url);
    await client.push("q", [1]);
    const messages = new Waggle(workerd.url).subscribe("q");
    expect((await messages.next()).value).toMatchObject({ payload: 1 });
    const heard = expect(messages.next()).rejects.toMatchObject({ code: "queue_deleted" });
    const deleted = await fetch(`${workerd.url}/api/v1/ephemeral/queue/q`, { method: "DELETE" });
    expect(await deleted.json()).toMatchObject({ deleted: true });
    await heard;
  },
);
