import { createExecutionContext, runInDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { expect, it } from "vitest";
import { CALLS_PER_EVENT, type Env } from "../../src/config.ts";
import worker from "../../src/index.ts";
import { queueObjectName } from "../../src/objects/queue-protocol.ts";
import { addConsumer, call, env, freshName, freshQueue, QUEUES, result, type Queue } from "./support.ts";

/** The samples of one queue, by name and labels. */
async function scrape(queue: string, vars: object = {}): Promise<Record<string, number>> {
  const ctx = createExecutionContext();
  const response = await worker.fetch(new Request("http://waggle/metrics"), { ...env, ...vars } as Env, ctx);
  await waitOnExecutionContext(ctx);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const samples = text.split("\n").filter((line) => line.startsWith("waggle_queue_"));
  const own = samples.filter((line) => line.includes(`{queue="${queue}"`));
  return Object.fromEntries(
    own.map((line) => {
      const at = line.lastIndexOf(" ");
      const name = line.slice("waggle_queue_".length, at).replace(`queue="${queue}"`, "");
      return [name.replace("{,", "{").replace("{}", ""), Number(line.slice(at + 1))];
    }),
  );
}

function send(queue: string, body: Record<string, unknown>): Promise<unknown> {
  return result("POST", `${QUEUES}/${queue}/messages`, body);
}

it("counts what a queue holds over all of its partitions, by state and by consumer", async () => {
  const { queue_name } = await freshQueue();
  await addConsumer(queue_name, { type: "http_pull", name: 'a "b" \\ c' });
  for (const partition of ["one", "two"]) {
    await send(queue_name, { body: 1, partition });
    await send(queue_name, { body: 2, partition, delay_seconds: 600 });
  }
  await result("POST", `${QUEUES}/${queue_name}/messages/pull`, { batch_size: 1 });
  const samples = await scrape(queue_name);
  expect(samples).toMatchObject({
    'messages{state="ready"}': 1,
    'messages{state="delayed"}': 2,
    'messages{state="leased"}': 1,
    backlog_bytes: 4,
    'dropped_total{reason="expired"}': 0,
    'dropped_total{reason="exhausted"}': 0,
    'dropped_total{reason="purged"}': 0,
    dead_lettered_total: 0,
    delivery_paused: 0,
    partitions_unreachable: 0,
    partitions_skipped: 0,
  });
  expect(samples[String.raw`consumer_backlog{consumer="a \"b\" \\ c"}`]).toBeGreaterThanOrEqual(2);
  expect(samples[String.raw`consumer_batches_out{consumer="a \"b\" \\ c"}`]).toBe(0);
  expect(samples["rows_written_total"]).toBeGreaterThan(0);
  expect(samples["oldest_message_age_seconds"]).toBeGreaterThanOrEqual(0);
});

it("counts what was purged, and says that delivery is paused", async () => {
  const { queue_name } = await freshQueue();
  for (const body of [1, 2, 3]) await send(queue_name, { body });
  await result("POST", `${QUEUES}/${queue_name}/purge`, { delete_messages_permanently: true });
  await result("PATCH", `${QUEUES}/${queue_name}`, { settings: { delivery_paused: true } });
  const samples = await scrape(queue_name);
  expect(samples).toMatchObject({
    'messages{state="ready"}': 0,
    'dropped_total{reason="purged"}': 3,
    delivery_paused: 1,
  });
  expect(samples).not.toHaveProperty("oldest_message_age_seconds");
});

it("counts dead letters", async () => {
  const { queue_name } = await freshQueue();
  const settings = { max_retries: 0 };
  await addConsumer(queue_name, { type: "http_pull", dead_letter_queue: freshName(), settings });
  await send(queue_name, { body: 1 });
  const { messages } = await result<{ messages: { lease_id: string }[] }>(
    "POST",
    `${QUEUES}/${queue_name}/messages/pull`,
  );
  await result("POST", `${QUEUES}/${queue_name}/messages/ack`, {
    retries: messages.map(({ lease_id }) => ({ lease_id })),
  });
  await expect.poll(() => scrape(queue_name), { timeout: 15_000 }).toMatchObject({ dead_lettered_total: 1 });
});

it("has a queue that nobody has sent to", async () => {
  const { queue_name } = await freshQueue();
  expect(await scrape(queue_name)).toEqual({ delivery_paused: 0, partitions_unreachable: 0, partitions_skipped: 0 });
});

const isCounter = (name: string) => name.includes("_total");

it("asks no more partitions than one event may call, counts the others, and leaves no small queue out", async () => {
  const owners = 3;
  const limit = CALLS_PER_EVENT.free - owners - 1;
  const small = await freshQueue();
  await send(small.queue_name, { body: 1 });
  const large = await freshQueue();
  await spread(large, limit + 5);
  const vars = { PLAN: "free", OWNERS: owners };
  const skipped = (await scrape(large.queue_name, vars))["partitions_skipped"] ?? 0;
  expect(skipped).toBeGreaterThanOrEqual(6);
  const samples = await scrape(large.queue_name, vars);
  expect(samples['messages{state="ready"}']).toBe(limit + 5 - skipped);
  expect(Object.keys(samples).filter(isCounter)).toEqual([]);
  expect(await scrape(small.queue_name, vars)).toMatchObject({ partitions_skipped: 0, dead_lettered_total: 0 });
  const paid = await scrape(large.queue_name);
  expect(paid).toMatchObject({ partitions_skipped: 0, 'messages{state="ready"}': limit + 5, dead_lettered_total: 0 });
});

async function spread({ queue_name }: Queue, partitions: number): Promise<void> {
  await Promise.all(
    Array.from({ length: partitions }, (_, n) => send(queue_name, { body: n, partition: `partition-${n}` })),
  );
}

it("heads every metric once, with help and a type, and then its samples", async () => {
  const text = await (await call("GET", "/metrics")).text();
  const lines = text.trimEnd().split("\n");
  const heads = lines.filter((line) => line.startsWith("# TYPE "));
  expect(new Set(heads).size).toBe(heads.length);
  let current = "";
  for (const line of lines) {
    const [, name] = /^# TYPE (\S+) (?:counter|gauge)$/.exec(line) ?? [];
    if (name !== undefined) current = name;
    else if (!line.startsWith("# HELP "))
      expect(line).toMatch(new RegExp(String.raw`^${current}(?:\{.*\})? \d+(?:\.\d+)?$`));
  }
});

it("leaves out the counters of a queue with a partition that cannot be asked, and says so", async () => {
  const { queue_id, queue_name } = await freshQueue();
  for (const partition of ["good", "bad"]) await send(queue_name, { body: 1, partition });
  await breakObject(queue_id, "bad");
  const samples = await scrape(queue_name);
  expect(samples).toMatchObject({ partitions_unreachable: 1, partitions_skipped: 0, 'messages{state="ready"}': 1 });
  expect(Object.keys(samples).filter(isCounter)).toEqual([]);
});

/** From now on the object cannot start: it believes that its tables are still to be made. */
async function breakObject(queueId: string, partition: string): Promise<void> {
  const stub = env.DURABLE_QUEUE.getByName(queueObjectName(queueId, partition));
  const broken = runInDurableObject(stub, async (_, state) => {
    state.storage.kv.put("schema", 0);
    await state.storage.sync();
    state.abort("broken by its test");
  });
  await expect(broken).rejects.toThrow("broken by its test");
}
