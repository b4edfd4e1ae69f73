import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd } from "../../bench/workerd.ts";
import { Waggle, WaggleError } from "../../src/client/index.ts";
import { eventually } from "./support.ts";

// Here brokers are killed: one that is stopped waits for what is parked, and a poll that was left stands for a while.
const build = inject("build");
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "waggle-client-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const CHECKPOINT_MS = 1100;
const KILLS = 3;

it("consume outlives kill -9 of the broker, and gets everything that is older than a checkpoint", async () => {
  let workerd = await startWorkerd({ build, dir });
  const { port } = workerd;
  const waggle = new Waggle(workerd.url);
  await waggle.ephemeral.configure("work", { leaseSeconds: 2 });
  const seen = new Set<number>();
  const stop = new AbortController();
  const consumed = waggle.consume<number>("work", { group: "g", signal: stop.signal }, async ({ payload }) => {
    await sleep(25);
    seen.add(payload);
  });
  await eventually(() => waggle.ephemeral.isListening("work"), true);

  let pushed = 0;
  for (let kills = 0; kills < KILLS; kills++) {
    // More than is consumed before the end: the rest has to come back.
    const numbers = Array.from({ length: 60 }, () => pushed++);
    await waggle.ephemeral.push("work", numbers);
    await sleep(CHECKPOINT_MS);
    await workerd.kill();
    // Sent while nobody is there, and kept at it until somebody is.
    const late = waggle.ephemeral.push("work", [pushed++]);
    await sleep(300);
    workerd = await startWorkerd({ build, dir, port });
    expect(await late).toEqual({ pushed: 1 });
  }
  await eventually(async () => seen.size, pushed, 20_000);
  stop.abort();
  await consumed;
  expect(await waggle.ephemeral.depth("work", { group: "g" })).toMatchObject({ pending: 0 });
  await workerd.kill();
});

it("stops cleanly: the handler at work ends, what is in hand is handled and acked, and nothing is handed back", async () => {
  const workerd = await startWorkerd({ build });
  const waggle = new Waggle(workerd.url);
  await waggle.ephemeral.push("tidy", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const stop = new AbortController();
  const handled: number[] = [];
  await waggle.consume<number>("tidy", { batch: 4, signal: stop.signal }, async ({ payload }) => {
    if (payload === 1) stop.abort();
    await sleep(20);
    handled.push(payload);
  });
  expect(handled).toEqual([0, 1, 2, 3]);
  const { messages } = await waggle.ephemeral.pop<number>("tidy", { batch: 10 });
  expect(messages.map(({ payload, attempts }) => [payload, attempts])).toEqual([4, 5, 6, 7, 8, 9].map((n) => [n, 1]));
  await workerd.kill();
});

it("consume handles as many at a time as it may, and no more", async () => {
  const workerd = await startWorkerd({ build });
  const waggle = new Waggle(workerd.url);
  await waggle.ephemeral.push(
    "crowd",
    Array.from({ length: 60 }, (_, n) => n),
  );
  const stop = new AbortController();
  let running = 0;
  let most = 0;
  let done = 0;
  const options = { concurrency: 7, batch: 5, signal: stop.signal };
  await waggle.consume("crowd", options, async () => {
    most = Math.max(most, ++running);
    await sleep(10);
    running--;
    if (++done === 60) stop.abort();
  });
  expect([most, done]).toEqual([7, 60]);
  expect(await waggle.ephemeral.depth("crowd")).toMatchObject({ pending: 0, bytes: 0 });
  await workerd.kill();
});

it("what does not pass ends it: consume rejects with what the broker says", async () => {
  const workerd = await startWorkerd({ build });
  const waggle = new Waggle(workerd.url);
  const consumed = waggle.consume("", {}, () => {});
  await expect(consumed).rejects.toMatchObject({ code: "ephemeral_bad_request", status: 400 });
  await expect(consumed).rejects.toBeInstanceOf(WaggleError);
  await workerd.kill();
  const nowhere = new Waggle("http://127.0.0.1:9", { fetch: () => Promise.reject(new TypeError("unreachable")) });
  const signal = AbortSignal.timeout(300);
  await expect(nowhere.ephemeral.push("q", [1], { signal })).rejects.toMatchObject({ name: "TimeoutError" });
  await expect(nowhere.ephemeral.reset("q")).rejects.toMatchObject({ code: "network_error", status: 0 });
});
