import { join } from "node:path";
import Cloudflare, { APIError } from "cloudflare";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { buildOf, startWorkerd, type Workerd } from "../../bench/workerd.ts";

/** The official SDK, with another base URL and nothing else. */

const account_id = "023e105f4ecef8ad9ca31a8372d0c353";

let workerd: Workerd;
let client: Cloudflare;

beforeAll(async () => {
  const build = inject("build");
  workerd = await startWorkerd({
    build,
    services: { ORDERS_WORKER: { service: "orders-worker" } },
    workers: { "orders-worker": buildOf(join(import.meta.dirname, "consumer.js"), build) },
  });
  client = new Cloudflare({ baseURL: `${workerd.url}/client/v4`, apiToken: "any", maxRetries: 0 });
});

afterAll(() => workerd.stop());

/** The codes that a call is refused with. */
async function refusal(
  call: Promise<unknown>,
): Promise<[status: number | undefined, ...codes: (number | undefined)[]]> {
  const error = await call.then(
    () => expect.unreachable("the call succeeded"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw error;
  return [error.status, ...error.errors.map(({ code }) => code)];
}

it("creates, finds, lists, changes and deletes queues", async () => {
  const queue = await client.queues.create({ account_id, queue_name: "sdk-queues" });
  expect(queue.queue_id).toMatch(/^[0-9a-f]{32}$/);
  const id = queue.queue_id ?? "";
  expect(await client.queues.get(id, { account_id })).toMatchObject(queue);
  const names: (string | undefined)[] = [];
  for await (const { queue_name } of client.queues.list({ account_id })) names.push(queue_name);
  expect(names).toContain("sdk-queues");
  const edited = await client.queues.edit(id, { account_id, settings: { delivery_delay: 5, delivery_paused: true } });
  expect(edited.settings).toEqual({ delivery_delay: 5, delivery_paused: true, message_retention_period: 345_600 });
  const updated = await client.queues.update(id, { account_id, settings: { message_retention_period: 60 } });
  expect(updated.settings).toEqual({ delivery_delay: 0, delivery_paused: false, message_retention_period: 60 });
  expect(await refusal(client.queues.create({ account_id, queue_name: "sdk-queues" }))).toEqual([409, 11_009]);
  expect(await client.queues.delete(id, { account_id })).toMatchObject({ success: true, errors: [] });
  expect(await refusal(client.queues.get(id, { account_id }))).toEqual([404, 10_104]);
});

it("pushes, pulls, acks, retries with a delay, peeks, purges, pauses and reads metrics", async () => {
  const { queue_id: id = "" } = await client.queues.create({ account_id, queue_name: "sdk-messages" });
  await client.queues.consumers.create(id, { account_id, type: "http_pull" });
  const { messages } = client.queues;

  const pushed = await messages.push(id, { account_id, body: { order: 1 } });
  expect(pushed.metadata?.metrics).toMatchObject({ backlog_count: 1, backlog_bytes: 11 });
  await messages.bulkPush(id, {
    account_id,
    messages: [
      { body: "two", content_type: "text" },
      { body: "late", content_type: "text", delay_seconds: 600 },
    ],
  });
  expect(await client.queues.getMetrics(id, { account_id })).toMatchObject({ backlog_count: 3, backlog_bytes: 18 });

  const peeked = await messages.peek(id, { account_id, batch_size: 10 });
  expect(peeked.messages?.map(({ attempts }) => attempts)).toEqual([0, 0, 0]);

  const pulled = await messages.pull(id, { account_id, batch_size: 10, visibility_timeout_ms: 60_000 });
  expect(pulled.message_backlog_count).toBe(3);
  const [one, two, ...others] = pulled.messages ?? [];
  expect(others).toEqual([]);
  expect(JSON.parse(atob(one?.body ?? ""))).toEqual({ order: 1 });
  expect(two?.body).toBe("two");
  expect(one?.metadata).toMatchObject({ "CF-Content-Type": "json" });

  const settled = await messages.ack(id, {
    account_id,
    acks: [{ lease_id: one?.lease_id ?? "" }],
    retries: [{ lease_id: two?.lease_id ?? "", delay_seconds: 1 }],
  });
  expect(settled).toEqual({ ackCount: 1, retryCount: 1, warnings: {} });
  expect((await messages.pull(id, { account_id })).messages).toEqual([]);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const again = (await messages.pull(id, { account_id })).messages ?? [];
  expect(again.map(({ body, attempts }) => [body, attempts])).toEqual([["two", 2]]);

  await client.queues.edit(id, { account_id, settings: { delivery_paused: true } });
  expect(await refusal(messages.pull(id, { account_id }))).toEqual([409, 10_252]);
  await client.queues.edit(id, { account_id, settings: { delivery_paused: false } });

  const late = (await messages.peek(id, { account_id })).messages?.find(({ body }) => body === "late");
  expect(await messages.purge(id, { account_id, refs: [{ ref: late?.ref ?? "" }] })).toEqual({
    errors: [],
    warnings: {},
  });
  expect(await client.queues.getMetrics(id, { account_id })).toMatchObject({ backlog_count: 1 });

  const purged = await client.queues.purge.start(id, { account_id, delete_messages_permanently: true });
  expect(purged.queue_name).toBe("sdk-messages");
  const status = await client.queues.purge.status(id, { account_id });
  expect(status.completed).toBe("true");
  expect(Date.parse(status.started_at ?? "")).toBeLessThanOrEqual(Date.now());
  expect(await client.queues.getMetrics(id, { account_id })).toEqual({
    backlog_count: 0,
    backlog_bytes: 0,
    oldest_message_timestamp_ms: 0,
  });
});

it("manages consumers, and messages reach the Worker of one", async () => {
  const { queue_id = "" } = await client.queues.create({ account_id, queue_name: "sdk-consumers" });
  const { consumers } = client.queues;
  const worker = { account_id, type: "worker", script_name: "orders-worker" } as const;
  const added = await consumers.create(queue_id, {
    ...worker,
    dead_letter_queue: "sdk-dead",
    settings: { batch_size: 5 },
  });
  const { consumer_id = "" } = added;
  expect(added).toMatchObject({
    type: "worker",
    script_name: "orders-worker",
    dead_letter_queue: "sdk-dead",
    settings: { batch_size: 5, max_retries: 3 },
  });
  expect(await consumers.get(consumer_id, { account_id, queue_id })).toEqual(added);
  const updated = await consumers.update(consumer_id, { ...worker, queue_id, settings: { max_retries: 0 } });
  expect(updated).toMatchObject({ dead_letter_queue: null, settings: { batch_size: 10, max_retries: 0 } });
  const listed = [];
  for await (const consumer of consumers.list(queue_id, { account_id })) listed.push(consumer);
  expect(listed).toEqual([updated]);
  const nobody = consumers.create(queue_id, { account_id, type: "worker", script_name: "nobody" });
  expect(await refusal(nobody)).toEqual([400, 10_400]);

  await client.queues.messages.push(queue_id, { account_id, body: "to the Worker", content_type: "text" });
  await expect
    .poll(async () => (await fetch(workerd.urls["orders-worker"] ?? "")).json(), { timeout: 10_000 })
    .toEqual(["to the Worker"]);

  expect(await consumers.delete(consumer_id, { account_id, queue_id })).toMatchObject({ success: true });
  expect(await refusal(consumers.get(consumer_id, { account_id, queue_id }))).toEqual([404, 10_404]);
});

it("hears that a partition is full, and what its bound is", async () => {
  const small = await startWorkerd({ build: inject("build"), vars: { QUEUE_MAX_BYTES: 10 } });
  const full = new Cloudflare({ baseURL: `${small.url}/client/v4`, apiToken: "any", maxRetries: 0 });
  const { queue_id: id = "" } = await full.queues.create({ account_id, queue_name: "small" });
  await full.queues.messages.push(id, { account_id, body: "12345678", content_type: "text" });
  const one = full.queues.messages.push(id, { account_id, body: "123", content_type: "text" });
  await expect(one).rejects.toThrow("10");
  expect(await refusal(one)).toEqual([429, 10_251]);
  await full.queues.messages.push(id, { account_id, body: "12", content_type: "text" });
  await small.stop();
});

it("an import that is repeated when the partition is full is told what is there", async () => {
  const small = await startWorkerd({ build: inject("build"), vars: { QUEUE_MAX_BYTES: 10 } });
  const post = async (path: string, body: object) => {
    const response = await fetch(`${small.url}/api/v1/queues${path}`, { method: "POST", body: JSON.stringify(body) });
    return [response.status, await response.json()] as const;
  };
  await post("", { queue_name: "small" });
  const text = { content_type: "text", body: "1234567890", timestamp_ms: 1_700_000_000_000 };
  const first = { number: 1, id: "a", ...text };
  const put = (...messages: object[]) => post("/small/import", { source: "file", partition: "Default", messages });
  expect(await put(first)).toMatchObject([200, { result: { imported: 1, repeated: 0 } }]);
  expect(await put(first)).toMatchObject([200, { result: { imported: 0, repeated: 1 } }]);
  expect(await put(first, { ...first, number: 2, id: "b" })).toMatchObject([429, { errors: [{ code: 10_251 }] }]);
  await small.stop();
});
