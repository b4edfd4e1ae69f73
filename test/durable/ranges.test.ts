import { describe, expect, it } from "vitest";
import { addConsumer, call, freshQueue, getQueue, QUEUES, refused, result, type Consumer } from "./support.ts";

/** Section 2 of the contract: each key with its default and both ends of its range. */
type Range = [key: string, fallback: number, min: number, max: number];

const QUEUE: Range[] = [
  ["delivery_delay", 0, 0, 86_400],
  ["message_retention_period", 345_600, 60, 1_209_600],
];
const ANY_CONSUMER: Range[] = [
  ["batch_size", 10, 1, 100],
  ["max_retries", 3, 0, 100],
  ["retry_delay", 0, 0, 86_400],
];
const PUSHED: Range[] = [...ANY_CONSUMER, ["max_concurrency", 1, 1, 250], ["max_wait_time_ms", 0, 0, 60_000]];
const PULLED: Range[] = [...ANY_CONSUMER, ["visibility_timeout_ms", 30_000, 1, 43_200_000]];

/** In a manifest, where seconds are seconds. */
const TABLE: Range[] = [
  ["max_batch_size", 10, 1, 100],
  ["max_batch_timeout", 0, 0, 60],
  ["max_retries", 3, 0, 100],
  ["retry_delay", 0, 0, 86_400],
  ["max_concurrency", 1, 1, 250],
];

function outside(min: number, max: number): unknown[] {
  return [min - 1, max + 1, min + 0.5, String(min), true, [min], {}];
}

function expectNamed(text: string, key: string, value: unknown, min: number, max: number): void {
  expect(text).toContain(key);
  expect(text).toContain(`from ${min} to ${max}`);
  if (typeof value === "number" || typeof value === "string") expect(text).toContain(JSON.stringify(value));
}

describe.each(QUEUE)("the setting %s of a queue", (key, fallback, min, max) => {
  it("is taken at both ends, and has a default", async () => {
    const { queue_id, settings } = await freshQueue();
    expect(settings).toMatchObject({ [key]: fallback });
    for (const value of [min, max]) {
      const changed = await result("PATCH", `${QUEUES}/${queue_id}`, { settings: { [key]: value } });
      expect(changed).toMatchObject({ settings: { [key]: value } });
      expect((await freshQueue({ [key]: value })).settings).toMatchObject({ [key]: value });
    }
  });

  it("is refused one past them, and nothing changes", async () => {
    const before = await freshQueue({ [key]: max });
    for (const value of outside(min, max)) {
      for (const method of ["PATCH", "PUT"]) {
        const answer = call(method, `${QUEUES}/${before.queue_id}`, {
          queue_name: "other",
          settings: { [key]: value },
        });
        expectNamed(await refused(answer, 400, 10400), `settings.${key}`, value, min, max);
      }
      await refused(call("POST", QUEUES, { queue_name: "never", settings: { [key]: value } }), 400, 10400);
    }
    expect(await getQueue(before.queue_id)).toMatchObject(before);
    await refused(call("GET", `${QUEUES}/never`), 404, 10104);
  });
});

describe.each([
  ["worker", { script_name: "orders-worker" }, PUSHED],
  ["http", { url: "https://example.com/hook", secret: "s" }, PUSHED],
  ["http_pull", {}, PULLED],
] as const)("a setting of a consumer of type %s", (type, rest, ranges) => {
  it.each(ranges)("%s is taken at both ends, and has a default", async (key, fallback, min, max) => {
    const { queue_id } = await freshQueue();
    const added = await addConsumer(queue_id, { type, ...rest });
    expect(added.settings).toMatchObject({ [key]: fallback });
    for (const value of [min, max]) {
      const path = `${QUEUES}/${queue_id}/consumers/${added.consumer_id}`;
      const put = await result<Consumer>("PUT", path, { type, ...rest, settings: { [key]: value } });
      expect(put.settings).toEqual({ ...added.settings, [key]: value });
      expect(await result("GET", path)).toEqual(put);
      // Without the key it returns to its default.
      expect(await result("PUT", path, { type, ...rest })).toEqual(added);
    }
  });

  it.each(ranges)("%s is refused one past them, and nothing changes", async (key, _, min, max) => {
    const { queue_id } = await freshQueue();
    const added = await addConsumer(queue_id, { type, ...rest, settings: { [key]: max } });
    for (const value of outside(min, max)) {
      const body = { type, ...rest, name: "other", settings: { [key]: value } };
      const put = call("PUT", `${QUEUES}/${queue_id}/consumers/${added.consumer_id}`, body);
      expectNamed(await refused(put, 400, 10400), `settings.${key}`, value, min, max);
      await refused(call("POST", `${QUEUES}/${queue_id}/consumers`, body), 400, 10400);
    }
    expect((await getQueue(queue_id)).consumers).toEqual([added]);
  });
});

describe.each(TABLE)("the key %s of a manifest's consumer", (key, fallback, min, max) => {
  const apply = (queue: string, value?: unknown) =>
    call("POST", "/api/v1/manifests", {
      name: "orders-worker",
      queues: { consumers: [{ queue, ...(value === undefined ? {} : { [key]: value }) }] },
    });
  const wire = key === "max_batch_timeout" ? "max_wait_time_ms" : key.replace("max_batch_size", "batch_size");
  const factor = key === "max_batch_timeout" ? 1000 : 1;

  it("is taken at both ends, and has a default", async () => {
    const { queue_id, queue_name } = await freshQueue();
    for (const [value, expected] of [
      [undefined, fallback],
      [min, min],
      [max, max],
      [undefined, fallback],
    ] as const) {
      expect((await apply(queue_name, value)).status).toBe(200);
      const [consumer] = (await getQueue(queue_id)).consumers;
      expect(consumer?.settings).toMatchObject({ [wire]: expected * factor });
    }
  });

  it("is refused one past them, and nothing changes", async () => {
    const { queue_id, queue_name } = await freshQueue();
    for (const value of outside(min, max)) {
      const text = await refused(apply(queue_name, value), 400, 10400);
      expectNamed(text, key, value, min, max);
      expect(text).toContain("queues.consumers[0]");
    }
    expect((await getQueue(queue_id)).consumers).toEqual([]);
  });
});

it.each([
  ["batch_size", 1, 100],
  ["visibility_timeout_ms", 1, 43_200_000],
  ["wait_ms", 0, 300_000],
] as const)("%s of a pull is taken at both ends, and refused one past them", async (key, min, max) => {
  const { queue_id } = await freshQueue();
  await addConsumer(queue_id, { type: "http_pull" });
  const pull = (value: unknown) => call("POST", `${QUEUES}/${queue_id}/messages/pull`, { [key]: value });
  for (const value of [min, max]) {
    // With a message there, no pull waits.
    await result("POST", `${QUEUES}/${queue_id}/messages`, { body: 1 });
    expect((await pull(value)).status).toBe(200);
  }
  for (const value of outside(min, max)) expectNamed(await refused(pull(value), 400, 10400), key, value, min, max);
});

it("batch_size of a peek is taken at both ends, and refused one past them", async () => {
  const { queue_id } = await freshQueue();
  const peek = (value: unknown) => call("POST", `${QUEUES}/${queue_id}/messages/peek`, { batch_size: value });
  for (const value of [1, 100]) expect((await peek(value)).status).toBe(200);
  for (const value of outside(1, 100)) {
    expectNamed(await refused(peek(value), 400, 10400), "batch_size", value, 1, 100);
  }
});

it.each([
  ["POST", "", { queue_name: "q", jurisdiction: "eu" }, ["jurisdiction", "eu", "queue_name", "settings"]],
  ["POST", "", { queue_name: "q", settings: { delivery_delays: 7 } }, ["delivery_delays", "7", "delivery_paused"]],
  ["PATCH", "/x", { settings: { retention: 60 } }, ["retention", "60", "message_retention_period"]],
  ["POST", "/x/messages", { body: 1, ttl: 5 }, ["ttl", "5", "delay_seconds", "partition"]],
  ["POST", "/x/messages/batch", { messages: [{ body: 1, partition: "p" }] }, ["partition", "p", "content_type"]],
  ["POST", "/x/messages/pull", { batchSize: 5 }, ["batchSize", "5", "batch_size", "wait_ms"]],
  ["POST", "/x/messages/ack", { nacks: [] }, ["nacks", "acks", "retries"]],
  ["POST", "/x/messages/peek", { limit: 1 }, ["limit", "1", "batch_size"]],
  ["POST", "/x/messages/purge", { refs: [], all: true }, ["all", "true", "refs"]],
  ["POST", "/x/purge", { delete_messages_permanently: true, really: 1 }, ["really", "1"]],
  [
    "POST",
    "/x/consumers",
    { type: "http_pull", settings: { max_concurrency: 3 } },
    ["max_concurrency", "3", "batch_size"],
  ],
  ["POST", "/x/consumers", { type: "http_pull", script_name: "x" }, ["script_name", "x", "dead_letter_queue"]],
])("refuses the unknown key of %s %s %j, naming it, its value and what there is", async (method, path, body, named) => {
  const text = await refused(call(method, `${QUEUES}${path}`, body), 400, 10400);
  for (const word of named) expect(text).toContain(word);
});
