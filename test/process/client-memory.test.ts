import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Waggle } from "../../src/client/index.ts";

let workerd: Workerd;

beforeAll(async () => {
  workerd = await startWorkerd({ build: inject("build") });
});
afterAll(() => workerd.kill());

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const MESSAGES = 100_000;
const BATCH = 1000;
/** What is there once everything has been compiled and every connection is open; from here on, nothing may pile up. */
const WARM = 20_000;
/** A tenth of what the messages alone would take, had they been kept. */
const MAX_GROWTH_BYTES = 4 * 1024 * 1024;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function heapUsed(): Promise<number> {
  for (let times = 0; times < 3; times++) {
    collect();
    await sleep(20);
  }
  return process.memoryUsage().heapUsed;
}

it("memory is steady over 100,000 messages that are pushed and consumed", async () => {
  const waggle = new Waggle(workerd.url);
  const stop = new AbortController();
  const counts = { pushed: 0, handled: 0 };
  const body = "x".repeat(200);
  const options = { group: "g", batch: BATCH, signal: stop.signal };
  const consumed = waggle.consume<{ n: number; body: string }>("stream", options, () => {
    counts.handled++;
  });
  const pushUpTo = async (total: number) => {
    while (counts.pushed < total) {
      const payloads = Array.from({ length: BATCH }, () => ({ n: counts.pushed++, body }));
      await waggle.ephemeral.push("stream", payloads);
      while (counts.pushed - counts.handled > 5 * BATCH) await sleep(1);
    }
    while (counts.handled < total) await sleep(1);
  };
  await pushUpTo(WARM);
  const before = await heapUsed();
  await pushUpTo(MESSAGES);
  const growth = (await heapUsed()) - before;
  console.log(`heap: ${(before / 2 ** 20).toFixed(1)} MiB, grew by ${(growth / 2 ** 20).toFixed(2)} MiB`);
  expect(counts.handled).toBe(MESSAGES);
  expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  stop.abort();
  await consumed;
});

it("and over 2,000 requests, of which some are given up", async () => {
  const waggle = new Waggle(workerd.url);
  const stop = new AbortController();
  const forever = new AbortController();
  const done = waggle.respond("echo", String, { concurrency: 50, signal: stop.signal });
  while (!(await waggle.ephemeral.isListening("echo"))) await sleep(10);
  const ask = async (count: number) => {
    for (let n = 0; n < count; n += 50) {
      const some = Array.from({ length: 50 }, (_, i) => {
        // A signal that outlives them all must not collect them.
        const asked = waggle.request("echo", n + i, { signal: forever.signal, timeout: i === 0 ? 1 : 10_000 });
        return asked.catch((error: { code: string }) => expect(error.code).toBe("no_reply"));
      });
      await Promise.all(some);
    }
  };
  await ask(500);
  const before = await heapUsed();
  await ask(2000);
  const growth = (await heapUsed()) - before;
  console.log(`heap: ${(before / 2 ** 20).toFixed(1)} MiB, grew by ${(growth / 2 ** 20).toFixed(2)} MiB`);
  expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  waggle.close();
  stop.abort();
  await done;
});
