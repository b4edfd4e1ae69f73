import { expect, it } from "vitest";
import { encodeBase64 } from "../../src/durable/base64.ts";
import { packMessages } from "../../src/durable/content.ts";
import { addConsumer, call, freshQueue, MOUNTS, QUEUES, refused, result } from "./support.ts";

const SENT = 1_700_000_000_000;
const json = encodeBase64(new TextEncoder().encode('{"n":1.0}'));
const v8 = encodeBase64(packMessages([{ body: new Map([[1, 2n]]), contentType: "v8" }]).bodies);

function message(number: number, more: Record<string, unknown> = {}) {
  return { number, id: `id-${number}`, content_type: "json", body: json, timestamp_ms: SENT, ...more };
}

interface Shown {
  id: string;
  body: string;
  attempts: number;
  timestamp_ms: number;
  state: string;
  due_at: string | null;
  ref: string;
  metadata: { "CF-Content-Type": string; origin?: unknown };
}

async function queue(settings: Record<string, unknown> = {}) {
  const { queue_id } = await freshQueue();
  await addConsumer(queue_id, { type: "http_pull", settings });
  const path = `${QUEUES}/${queue_id}`;
  return {
    path,
    put: (messages: unknown[], more: Record<string, unknown> = {}) =>
      result("POST", `${path}/import`, { source: "file", partition: "Default", messages, ...more }),
    peek: async () =>
      (await result<{ messages: Shown[] }>("POST", `${path}/messages/peek`, { batch_size: 100 })).messages,
    pull: async () =>
      (await result<{ messages: (Shown & { lease_id: string })[] }>("POST", `${path}/messages/pull`)).messages,
    retry: (lease_id: string) => result("POST", `${path}/messages/ack`, { retries: [{ lease_id }] }),
  };
}

it.each([
  ["json", json],
  ["text", "grüße"],
  ["bytes", encodeBase64(Uint8Array.of(0, 255, 7))],
  ["v8", v8],
])("keeps the id, time, origin and every byte of a body of content type %s", async (content_type, body) => {
  const { put, peek } = await queue();
  const origin = { source_queue: "elsewhere", attempts: 4, last_error: "it threw" };
  expect(await put([message(1, { content_type, body, origin })])).toEqual({ imported: 1, repeated: 0 });
  expect(await peek()).toMatchObject([
    { id: "id-1", body, timestamp_ms: SENT, metadata: { "CF-Content-Type": content_type, origin } },
  ]);
});

it("stores nothing twice when it is repeated, for each source and partition by itself", async () => {
  const { put, peek } = await queue();
  await put([message(1), message(2)]);
  expect(await put([message(1), message(2), message(5)])).toEqual({ imported: 1, repeated: 2 });
  expect(await put([message(4)])).toEqual({ imported: 0, repeated: 1 });
  expect(await put([message(1)], { source: "other" })).toEqual({ imported: 1, repeated: 0 });
  expect(await put([message(1)], { partition: "new" })).toEqual({ imported: 1, repeated: 0 });
  expect((await peek()).map(({ id }) => id).toSorted()).toEqual(["id-1", "id-1", "id-1", "id-2", "id-5"]);
});

it("goes on counting deliveries, and gives up at the same number", async () => {
  const { put, peek, pull, retry } = await queue({ max_retries: 3 });
  await put([message(1, { attempts: 2 }), message(2, { attempts: 4 })]);
  expect((await peek()).map(({ attempts }) => attempts)).toEqual([2, 4]);
  const [third, ...others] = await pull();
  expect([third?.attempts, others]).toEqual([3, []]);
  await retry(third?.lease_id ?? "");
  const [fourth] = await pull();
  expect(fourth?.attempts).toBe(4);
  await retry(fourth?.lease_id ?? "");
  expect(await peek()).toEqual([]);
});

it("keeps a due time that is yet to come, with the deliveries", async () => {
  const { put, peek } = await queue();
  const due_at_ms = Date.now() + 3_600_000;
  await put([message(1, { due_at_ms, attempts: 2 }), message(2, { due_at_ms: SENT })]);
  expect(await peek()).toMatchObject([
    { id: "id-2", state: "ready", attempts: 0 },
    { id: "id-1", state: "delayed", attempts: 2, due_at: new Date(due_at_ms).toISOString() },
  ]);
});

it.each(MOUNTS)("stands at %s", async (mount) => {
  const { queue_id } = await freshQueue();
  const body = { source: "file", partition: "Default", messages: [message(1)] };
  expect(await result("POST", `${mount}/${queue_id}/import`, body)).toEqual({ imported: 1, repeated: 0 });
});

it.each<[what: string, code: number, status: number, body: Record<string, unknown>]>([
  ["no messages", 10206, 400, { messages: [] }],
  ["101 messages", 10206, 400, { messages: Array.from({ length: 101 }, (_, i) => message(i + 1)) }],
  ["a number that does not grow", 10400, 400, { messages: [message(2), message(2)] }],
  ["number 0", 10400, 400, { messages: [message(0)] }],
  ["an id with a space", 10400, 400, { messages: [message(1, { id: "a b" })] }],
  ["an id of 65 characters", 10400, 400, { messages: [message(1, { id: "a".repeat(65) })] }],
  ["an unknown content type", 10400, 400, { messages: [message(1, { content_type: "xml" })] }],
  ["json that is none", 10208, 400, { messages: [message(1, { body: encodeBase64(Uint8Array.of(123)) })] }],
  ["bytes that are not base64", 10208, 400, { messages: [message(1, { content_type: "bytes", body: "*" })] }],
  ["a negative time", 10400, 400, { messages: [message(1, { timestamp_ms: -1 })] }],
  ["a due time too far off", 10400, 400, { messages: [message(1, { due_at_ms: 253_402_300_799_999 })] }],
  [
    "a body that is too large",
    10204,
    413,
    { messages: [message(1, { content_type: "text", body: "a".repeat(128_001) })] },
  ],
  ["a source of 65 characters", 10400, 400, { source: "a".repeat(65), messages: [message(1)] }],
  ["an unknown key", 10400, 400, { messages: [message(1)], all: true }],
])("refuses %s and stores nothing", async (_, code, status, body) => {
  const { path, peek } = await queue();
  await refused(call("POST", `${path}/import`, { source: "file", partition: "Default", ...body }), status, code);
  expect(await peek()).toEqual([]);
});
