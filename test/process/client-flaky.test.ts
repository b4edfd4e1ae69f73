import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Waggle } from "../../src/client/index.ts";
import { FlakyProxy } from "./flaky-proxy.ts";
import { Client, eventually, type Message } from "./support.ts";

let workerd: Workerd;
let direct: Client;
let proxy: FlakyProxy;
let waggle: Waggle;

beforeAll(async () => {
  workerd = await startWorkerd({ build: inject("build") });
  direct = new Client(workerd.url);
  proxy = new FlakyProxy(workerd.url);
  waggle = new Waggle(await proxy.start());
});
afterAll(async () => {
  await proxy.stop();
  await workerd.kill();
});

const PUSHES = 1000;
const PRODUCERS = 20;
const numbers = Array.from({ length: PUSHES }, (_, n) => n);

/** Pushes every number with a call of its own, some calls at a time. */
async function pushAll(queue: string): Promise<void> {
  const left = [...numbers];
  const produce = async () => {
    for (let n = left.shift(); n !== undefined; n = left.shift()) {
      expect(await waggle.ephemeral.push(queue, [n], { partition: `p${n % 7}` })).toEqual({ pushed: 1 });
    }
  };
  await Promise.all(Array.from({ length: PRODUCERS }, produce));
}

async function drain(queue: string): Promise<number[]> {
  const all: Message[] = [];
  for (let last = -1; last !== all.length;) {
    last = all.length;
    all.push(...(await direct.pop(`queue=${queue}&batch=10000&autoAck=true`)));
  }
  return all.map(({ payload }) => Number(payload)).sort((a, b) => a - b);
}

it("with a fifth of all answers lost or late, 1,000 pushes are stored once each", async () => {
  await pushAll("pushes");
  expect(proxy.counts.dropped).toBeGreaterThan(PUSHES / 20);
  expect(proxy.counts.delayed).toBeGreaterThan(PUSHES / 20);
  expect(await drain("pushes")).toEqual(numbers);
});

it("consume goes on through all of that, and loses nothing", async () => {
  // What was handed out with an answer that got lost comes back when its lease is over.
  await direct.post("configure", { queue: "work", options: { leaseSeconds: 1, retryLimit: 1000 } });
  const seen = new Set<number>();
  const thrown = new Set<number>();
  const errors: unknown[] = [];
  const stop = new AbortController();
  const options = { group: "g", batch: 20, signal: stop.signal, onError: (error: unknown) => errors.push(error) };
  const consumed = waggle.consume<number>("work", options, ({ payload }) => {
    if (payload % 50 === 0 && !thrown.has(payload)) {
      thrown.add(payload);
      throw new Error(`not ${payload} yet`);
    }
    seen.add(payload);
  });
  const dropped = proxy.counts.dropped;
  await Promise.all([pushAll("work"), eventually(async () => seen.size, PUSHES, 40_000)]);
  const { ephemeral } = new Waggle(workerd.url);
  const held = async () => (await ephemeral.queues()).queues.find(({ queue }) => queue === "work")?.depth;
  await eventually(held, 0, 10_000);
  expect(proxy.counts.dropped).toBeGreaterThan(dropped);
  expect(errors.map(String)).toHaveLength(PUSHES / 50);
  stop.abort();
  await consumed;
});

it("acks of what was handed out get through", async () => {
  await direct.push("acks", numbers);
  for (let left = PUSHES; left > 0;) {
    const messages = await direct.pop("queue=acks&group=g&batch=25");
    const { results } = await waggle.ephemeral.ack("acks", messages, { group: "g" });
    // The first try settled them if its answer was lost.
    expect(results.every(({ outcome }) => outcome === "acked" || outcome === "unknown")).toBe(true);
    left -= messages.length;
  }
  expect(await direct.get("/api/v1/ephemeral/queues/acks/depth?group=g")).toMatchObject({ pending: 0, bytes: 0 });
});
