import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Waggle } from "../../src/client/index.ts";
import { eventually } from "./support.ts";

const build = inject("build");
let dir: string;
let workerd: Workerd;
let waggle: Waggle;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "waggle-subscribe-"));
  workerd = await startWorkerd({ build, dir });
  waggle = new Waggle(workerd.url, { token: "not asked for here" });
});
afterAll(async () => {
  await workerd.kill();
  await rm(dir, { recursive: true, force: true });
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);

async function pending(queue: string, group: string): Promise<number> {
  return (await waggle.ephemeral.depth(queue, { group })).pending;
}

it("1,000 messages come in order over a socket, and are acked as the loop goes on", async () => {
  const stop = new AbortController();
  const seen: number[] = [];
  const loop = (async () => {
    for await (const { payload, attempts } of waggle.subscribe<number>("stream", { group: "g", signal: stop.signal })) {
      expect(attempts).toBe(1);
      seen.push(payload);
      if (seen.length === 1000) stop.abort();
    }
  })();
  await eventually(() => waggle.ephemeral.isListening("stream"), true);
  for (let n = 0; n < 1000; n += 50) await waggle.ephemeral.push("stream", numbers(50, n));
  await loop;
  expect(seen).toEqual(numbers(1000));
  // The one at which it was stopped has been handled, too.
  await eventually(async () => (await waggle.ephemeral.depth("stream", { group: "g" })).bytes, 0);
});

it("what a loop is left with goes back, and so does what it hands back", async () => {
  await waggle.ephemeral.push("left", [1, 2, 3]);
  for await (const { payload } of waggle.subscribe<number>("left", { group: "g", prefetch: 10 })) {
    if (payload === 2) break;
  }
  await eventually(() => pending("left", "g"), 2);
  const seen: [number, number][] = [];
  for await (const message of waggle.subscribe<number>("left", { group: "g" })) {
    seen.push([message.payload, message.attempts]);
    if (message.payload === 3 && seen.length < 3) message.retry();
    else message.ack();
    if (seen.length === 3) break;
  }
  expect(seen).toEqual([
    [2, 2],
    [3, 2],
    [3, 3],
  ]);
  await eventually(async () => (await waggle.ephemeral.depth("left", { group: "g" })).bytes, 0);
});

it("a subscription outlives kill -9 of the broker", async () => {
  await waggle.ephemeral.configure("killed", {});
  const stop = new AbortController();
  const seen = new Set<number>();
  const loop = (async () => {
    for await (const { payload } of waggle.subscribe<number>("killed", { group: "g", signal: stop.signal })) {
      await sleep(5);
      seen.add(payload);
    }
  })();
  for (let kills = 0; kills < 2; kills++) {
    await waggle.ephemeral.push("killed", numbers(300, kills * 300));
    await sleep(1100);
    const { port } = workerd;
    await workerd.kill();
    workerd = await startWorkerd({ build, dir, port });
  }
  await eventually(async () => seen.size, 600, 20_000);
  stop.abort();
  await loop;
});

it("ends when it is told to, and throws what does not pass", async () => {
  const signal = AbortSignal.timeout(100);
  for await (const message of waggle.subscribe("idle", { signal })) throw new Error(`got ${message.id}`);
  await expect(waggle.subscribe("").next()).rejects.toMatchObject({ code: "ephemeral_bad_request", status: 400 });
});
