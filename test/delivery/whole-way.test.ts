import { abortAllDurableObjects, evictAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { env as bindings, exports } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import type { Env } from "../../src/config.ts";
import type { SendResponse } from "../../src/rpc/queue.ts";
import type { Step } from "./consumers/script.ts";
import { seen } from "./support.ts";

const env = bindings as unknown as Env;

interface Loopback {
  default: Fetcher;
  Queue: (options: { props: object }) => {
    send(body: unknown, options?: object): Promise<SendResponse>;
    sendBatch(messages: object[]): Promise<SendResponse>;
  };
}

const { default: broker, Queue } = exports as unknown as Loopback;

interface Status {
  queue_id: string;
  consumers: { consumer_id: string }[];
  status: {
    ready_count: number;
    delayed_count: number;
    leased_count: number;
    next_alarm: string | null;
    last_outcome: string | null;
    last_error: string | null;
    dropped: { exhausted: number };
    dead_lettered: number;
  };
}

async function api<T = Status>(method: string, path: string, body?: unknown): Promise<T> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const answer = await broker.fetch(`http://waggle/api/v1/queues${path}`, init);
  const { success, errors, result } = await answer.json<{ success: boolean; errors: unknown; result: T }>();
  expect(success, JSON.stringify(errors)).toBe(true);
  return result;
}

let queues = 0;

/** A queue with a consumer Worker, and its producer. */
async function declared(binding: string, settings: object = {}, more: object = {}) {
  const queue = `whole-${++queues}`;
  await api("POST", "", { queue_name: queue });
  await api("POST", `/${queue}/consumers`, { type: "worker", script_name: binding, settings, ...more });
  return { queue, producer: Queue({ props: { queue } }) };
}

async function settled(queue: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const { status } = await api("GET", `/${queue}`);
      expect(status.ready_count + status.delayed_count + status.leased_count).toBe(0);
    },
    { timeout: 15_000, interval: 20 },
  );
}

function object(queueId: string) {
  return env.DURABLE_QUEUE.getByName(`${queueId}:Default`);
}

const MODULE: Record<string, string> = { NAMED: "OBJECT", WRAPPED_CLASS: "WRAPPED" };

it.each(["OBJECT", "NAMED", "CLASS", "WRAPPED", "WRAPPED_CLASS"])("delivers what is sent to %s", async (binding) => {
  const { queue, producer } = await declared(binding);
  await producer.sendBatch([
    { body: { at: new Date(0) } },
    { body: "text", contentType: "text" },
    { body: new Uint8Array([1, 255]), contentType: "bytes" },
    { body: new Map([[1n, new Set(["x"])]]), contentType: "v8" },
  ]);
  await settled(queue);
  const { queue: name, messages } = await seen(MODULE[binding] ?? binding);
  expect(name).toBe(queue);
  expect(messages.map(({ body }) => body)).toEqual([
    { at: "1970-01-01T00:00:00.000Z" },
    "text",
    new Uint8Array([1, 255]),
    new Map([[1n, new Set(["x"])]]),
  ]);
  expect(messages.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1]);
});

it("delivers again what a handler throws on, and then hands it to the dead-letter queue", async () => {
  const { queue, producer } = await declared("OBJECT", { max_retries: 2 }, { dead_letter_queue: "whole-dead" });
  const steps: Step[] = [["throw", "it is broken"]];
  await producer.send({ steps });
  await settled(queue);
  expect((await seen("OBJECT")).messages.map(({ attempts }) => attempts)).toEqual([3]);
  const { status } = await api("GET", `/${queue}`);
  expect(status).toMatchObject({ last_outcome: "error", dead_lettered: 1 });
  expect(status.last_error).toContain("it is broken");
  const { messages } = await api<{ messages: { id: string; metadata: Record<string, unknown> }[] }>(
    "POST",
    "/whole-dead/messages/peek",
    {},
  );
  expect(messages).toHaveLength(1);
  expect(JSON.stringify(messages[0]?.metadata)).toContain(queue);
  expect(JSON.stringify(messages[0]?.metadata)).toContain("it is broken");
});

it("wakes from its sleep when a delayed message is due", async () => {
  const { queue, producer } = await declared("OBJECT");
  await producer.send("later", { delaySeconds: 3600 });
  const { queue_id, status } = await api("GET", `/${queue}`);
  expect(status).toMatchObject({ delayed_count: 1, ready_count: 0 });
  expect(Math.abs(Date.parse(status.next_alarm ?? "") - Date.now() - 3_600_000)).toBeLessThan(10_000);
  await evictAllDurableObjects();
  const woken = await api("GET", `/${queue}`);
  expect(woken.status).toMatchObject({ delayed_count: 1, next_alarm: status.next_alarm });
  // Nothing is due: the alarm only looks, and sets itself for the same time.
  expect(await runDurableObjectAlarm(object(queue_id))).toBe(true);
  expect((await api("GET", `/${queue}`)).status).toMatchObject({ delayed_count: 1 });
  expect(
    Math.abs(Date.parse((await api("GET", `/${queue}`)).status.next_alarm ?? "") - Date.now() - 3_600_000),
  ).toBeLessThan(20_000);
});

it("delivers after a restart what was out, at the cost of an attempt", async () => {
  const { queue, producer } = await declared("CLASS");
  const steps: Step[] = [["wait", 400]];
  await producer.send({ steps });
  await abortAllDurableObjects();
  await settled(queue);
  expect((await seen("CLASS")).messages.map(({ attempts }) => attempts)).toEqual([2]);
});

it("keeps over an abort what is ready and what is delayed", async () => {
  const { queue, producer } = await declared("OBJECT");
  await api("PATCH", `/${queue}`, { settings: { delivery_paused: true } });
  await producer.sendBatch([{ body: 1 }, { body: 2, delaySeconds: 600 }]);
  await abortAllDurableObjects();
  expect((await api("GET", `/${queue}`)).status).toMatchObject({ ready_count: 1, delayed_count: 1, leased_count: 0 });
  await api("PATCH", `/${queue}`, { settings: { delivery_paused: false } });
  await vi.waitFor(async () => expect((await api("GET", `/${queue}`)).status.ready_count).toBe(0));
});

it("does not send a message of an unreachable consumer to the dead-letter queue, and says what is wrong", async () => {
  const { queue, producer } = await declared("SILENT", { max_retries: 0 }, { dead_letter_queue: "whole-dead-silent" });
  await producer.send("x");
  await vi.waitFor(async () => {
    const { status } = await api("GET", `/${queue}`);
    expect(status).toMatchObject({ last_outcome: "unreachable", ready_count: 1, dead_lettered: 0 });
    expect(status.last_error).toContain('does not implement the method "queue"');
  });
});

it("refuses with 10251 what would pass the bound of a partition, and takes more once there is room", async () => {
  const { queue, producer } = await declared("OBJECT");
  await api("PATCH", `/${queue}`, { settings: { delivery_paused: true } });
  const half = "x".repeat(50_000);
  await producer.send(half, { contentType: "text" });
  await producer.send(half, { contentType: "text" });
  const refused: unknown = await producer.send("y").then(
    () => null,
    (error: unknown) => error,
  );
  expect(refused).toMatchObject({ code: 10251, retryable: true });
  await api("POST", `/${queue}/purge`, { delete_messages_permanently: true });
  await producer.send("y");
});
