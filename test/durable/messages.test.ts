import { expect, it } from "vitest";
import { encodeBase64 } from "../../src/durable/base64.ts";
import { decodeBody, packMessages } from "../../src/durable/content.ts";
import type { ContentType } from "../../src/durable/message.ts";
import { addConsumer, call, freshQueue, QUEUES, refused, result } from "./support.ts";

interface Message {
  id: string;
  body: string;
  attempts: number;
  timestamp_ms: number;
  metadata: Record<string, unknown>;
}
interface Pulled {
  message_backlog_count: number;
  messages: (Message & { lease_id: string })[];
  metadata: { metrics: Metrics };
}
interface Metrics {
  backlog_count: number;
  backlog_bytes: number;
  oldest_message_timestamp_ms: number;
}
interface Peeked {
  messages: (Message & { ref: string; state: string; due_at: string | null })[];
}
interface Settled {
  ackCount: number;
  retryCount: number;
  warnings: Record<string, string>;
}

/** A queue that is pulled from, and its routes. */
async function pulled(settings: Record<string, unknown> = {}) {
  const { queue_id } = await freshQueue();
  await addConsumer(queue_id, { type: "http_pull", settings });
  return routes(queue_id);
}

function routes(queue: string) {
  const path = `${QUEUES}/${queue}/messages`;
  return {
    queue,
    path,
    push: (message: Record<string, unknown>) => result<{ metadata: { metrics: Metrics } }>("POST", path, message),
    pull: (body: Record<string, unknown> = {}) => result<Pulled>("POST", `${path}/pull`, body),
    peek: (body: Record<string, unknown> = {}) => result<Peeked>("POST", `${path}/peek`, body),
    settle: (body: Record<string, unknown>) => result<Settled>("POST", `${path}/ack`, body),
    metrics: () => result<Metrics>("GET", `${QUEUES}/${queue}/metrics`),
  };
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

const v8 = encodeBase64(packMessages([{ body: new Map([[1, 2n]]), contentType: "v8" }]).bodies);

it.each<[content_type: string | undefined, body: unknown, type: ContentType, value: unknown]>([
  [undefined, { a: [1, null, "ü"] }, "json", { a: [1, null, "ü"] }],
  ["json", null, "json", null],
  ["JSON", false, "json", false],
  ["json", "", "json", ""],
  ["text", "plain ü \u0000", "text", "plain ü \u0000"],
  ["Text", "", "text", ""],
  ["bytes", "AAEC/w==", "bytes", new Uint8Array([0, 1, 2, 255])],
  ["bytes", "", "bytes", new Uint8Array()],
  ["v8", v8, "v8", new Map([[1, 2n]])],
])("carries a body of content type %j, %j", async (content_type, body, type, value) => {
  const { push, pull, peek } = await pulled();
  await push({ body, content_type });
  const [peeked] = (await peek()).messages;
  const [message] = (await pull()).messages;
  expect(message?.metadata["CF-Content-Type"]).toBe(type);
  expect(message?.metadata).toHaveProperty("CF-sourceMessageSource");
  expect(peeked?.body).toBe(message?.body);
  expect(peeked?.metadata).toEqual(message?.metadata);
  const text = message?.body ?? "";
  // Text is plain, everything else base64 of what is stored.
  expect(type === "text" ? text : decodeBody(type, bytesOf(text))).toEqual(value);
});

it("pushes, peeks, pulls, retries with a delay and acks", async () => {
  const { push, pull, peek, settle, metrics, path } = await pulled();
  const before = Date.now();
  expect(await metrics()).toEqual({ backlog_count: 0, backlog_bytes: 0, oldest_message_timestamp_ms: 0 });
  const pushed = await push({ body: "one", content_type: "text" });
  expect(pushed.metadata.metrics).toMatchObject({ backlog_count: 1, backlog_bytes: 3 });
  await result("POST", `${path}/batch`, {
    messages: [
      { body: "two", content_type: "text" },
      { body: "three", content_type: "text", delay_seconds: 3600 },
    ],
  });

  const peeked = (await peek()).messages;
  expect(peeked.map(({ body, state, attempts }) => [body, state, attempts])).toEqual([
    ["one", "ready", 0],
    ["two", "ready", 0],
    ["three", "delayed", 0],
  ]);
  expect(peeked[0]?.due_at).toBeNull();
  expect(Date.parse(peeked[2]?.due_at ?? "")).toBeGreaterThanOrEqual(before + 3_600_000);
  expect((await peek({ batch_size: 1 })).messages).toHaveLength(1);

  const first = await pull({ batch_size: 2, visibility_timeout_ms: 60_000 });
  expect(first.messages.map(({ body, attempts }) => [body, attempts])).toEqual([
    ["one", 1],
    ["two", 1],
  ]);
  expect(first.messages.map(({ id }) => id)).toEqual(peeked.slice(0, 2).map(({ id }) => id));
  expect(first.messages[0]?.timestamp_ms).toBeGreaterThanOrEqual(before);
  expect(first.message_backlog_count).toBe(3);
  expect(first.metadata.metrics).toMatchObject({ backlog_count: 3, backlog_bytes: 11 });
  expect((await peek()).messages.map(({ state }) => state)).toEqual(["leased", "leased", "delayed"]);
  expect((await pull()).messages).toEqual([]);

  const [one, two] = first.messages.map(({ lease_id }) => lease_id);
  const settled = { acks: [{ lease_id: one }], retries: [{ lease_id: two, delay_seconds: 0 }] };
  expect(await settle(settled)).toEqual({ ackCount: 1, retryCount: 1, warnings: {} });
  const again = (await pull()).messages;
  expect(again.map(({ body, attempts }) => [body, attempts])).toEqual([["two", 2]]);
  // The lease of the first delivery is over.
  const stale = await settle({ acks: [{ lease_id: one }, { lease_id: "nonsense" }] });
  expect(stale).toMatchObject({ ackCount: 0, retryCount: 0 });
  expect(Object.keys(stale.warnings)).toEqual([one, "nonsense"]);
  await settle({ retries: [{ lease_id: again[0]?.lease_id, delay_seconds: 600 }] });
  expect((await peek()).messages.map(({ body, state }) => [body, state])).toEqual([
    ["two", "delayed"],
    ["three", "delayed"],
  ]);
});

it("covers all partitions with pull, peek, metrics and purge, and starves none", async () => {
  const { push, pull, peek, metrics, settle, path } = await pulled();
  for (const partition of ["a", "b", "Default", null, undefined]) {
    for (let i = 0; i < 3; i++) await push({ body: String(partition), content_type: "text", partition });
  }
  expect(await metrics()).toMatchObject({ backlog_count: 15 });
  const seen = (await peek({ batch_size: 100 })).messages;
  expect(seen.map(({ timestamp_ms }) => timestamp_ms)).toEqual(seen.map(({ timestamp_ms }) => timestamp_ms).sort());
  expect(seen).toHaveLength(15);
  // One at a time, three pulls in a row begin with three different partitions.
  const taken = [];
  for (let i = 0; i < 3; i++) taken.push(...(await pull({ batch_size: 1 })).messages);
  expect(new Set(taken.map(({ body }) => (body === "a" || body === "b" ? body : "Default"))).size).toBe(3);
  const rest = (await pull({ batch_size: 100 })).messages;
  expect(rest).toHaveLength(12);
  const acks = [...taken, ...rest].map(({ lease_id }) => ({ lease_id }));
  expect(await settle({ acks: acks.slice(2) })).toMatchObject({ ackCount: 13 });
  const refs = (await peek()).messages.map(({ ref }) => ({ ref }));
  expect(refs).toHaveLength(2);
  const purged = await result<{ errors: { message: string }[]; warnings: Record<string, string> }>(
    "POST",
    `${path}/purge`,
    { refs: [...refs, { ref: "nonsense" }] },
  );
  expect(purged.errors).toHaveLength(1);
  expect(purged.errors[0]?.message).toContain("nonsense");
  expect(purged.warnings).toEqual({});
  const again = await result<{ warnings: Record<string, string> }>("POST", `${path}/purge`, { refs });
  expect(Object.keys(again.warnings)).toEqual(refs.map(({ ref }) => ref));
  expect(await metrics()).toMatchObject({ backlog_count: 0 });
});

it("purges everything, and says when", async () => {
  const { queue, push, metrics } = await pulled();
  const state = () => result<{ completed: string; started_at: string | null }>("GET", `${QUEUES}/${queue}/purge`);
  expect(await state()).toEqual({ completed: "false", started_at: null });
  for (const partition of ["a", "b"]) await push({ body: 1, partition });
  const before = Date.now();
  const purged = await result("POST", `${QUEUES}/${queue}/purge`, { delete_messages_permanently: true });
  expect(purged).toMatchObject({ queue_id: queue });
  expect(await metrics()).toMatchObject({ backlog_count: 0 });
  const { completed, started_at } = await state();
  expect(completed).toBe("true");
  expect(Date.parse(started_at ?? "")).toBeGreaterThanOrEqual(before);
  for (const body of [{}, { delete_messages_permanently: false }]) {
    await refused(call("POST", `${QUEUES}/${queue}/purge`, body), 400, 10400);
  }
});

it("waits for a message, also for one of a partition that is new", async () => {
  const { push, pull } = await pulled();
  for (const partition of ["Default", "other"]) {
    const waiting = pull({ wait_ms: 20_000 });
    await scheduler.wait(50);
    if (partition === "other") await push({ body: "wakes", content_type: "text", partition: "Default" });
    await push({ body: partition, content_type: "text", partition });
    const { messages } = await waiting;
    expect(messages.length).toBeGreaterThan(0);
    await pull({ batch_size: 100 });
  }
  const started = Date.now();
  expect((await pull({ wait_ms: 100 })).messages).toEqual([]);
  expect(Date.now() - started).toBeGreaterThanOrEqual(95);
});

it("refuses to pull while delivery is paused, and takes sends", async () => {
  const { queue, push, pull, path } = await pulled();
  await push({ body: 1 });
  await result("PATCH", `${QUEUES}/${queue}`, { settings: { delivery_paused: true } });
  await push({ body: 2 });
  const started = Date.now();
  expect(await refused(call("POST", `${path}/pull`, { wait_ms: 20_000 }), 409, 10252)).toContain("paused");
  expect(Date.now() - started).toBeLessThan(10_000);
  await result("PATCH", `${QUEUES}/${queue}`, { settings: { delivery_paused: false } });
  expect((await pull()).messages).toHaveLength(2);
});

it("refuses to pull without a pull consumer, and to guess which of several is meant", async () => {
  const { queue_id } = await freshQueue();
  await addConsumer(queue_id, { type: "worker", script_name: "mail" });
  const path = `${QUEUES}/${queue_id}/messages/pull`;
  expect(await refused(call("POST", path, {}), 404, 10404)).toContain("http_pull");
  await addConsumer(queue_id, { type: "http_pull" });
  await addConsumer(queue_id, { type: "http_pull", name: "audit" });
  const several = await refused(call("POST", path, {}), 400, 10400);
  for (const name of ["pull", "audit"]) expect(several).toContain(name);
  await refused(call("POST", path, { consumer: "mail" }), 404, 10404);
  await result("POST", `${QUEUES}/${queue_id}/messages`, { body: 1 });
  // Each sees every message.
  for (const consumer of ["pull", "audit"]) {
    expect((await result<Pulled>("POST", path, { consumer })).messages).toHaveLength(1);
  }
});

const big = "x".repeat(128_001);

it.each<[code: number, status: number, message: unknown, named: string]>([
  [10203, 400, { body: 1, content_type: "xml" }, "xml"],
  [10203, 400, { body: 1, content_type: 7 }, "7"],
  [10203, 400, { body: 1, delay_seconds: 86_401 }, "86401"],
  [10203, 400, { body: 1, delay_seconds: -1 }, "-1"],
  [10203, 400, { body: 1, delay_seconds: 1.5 }, "1.5"],
  [10203, 400, { body: 1, delay_seconds: "5" }, "5"],
  [10204, 413, { body: big, content_type: "text" }, "128001"],
  [10208, 400, {}, "body"],
  [10208, 400, { body: 7, content_type: "text" }, "text"],
  [10208, 400, { body: 7, content_type: "bytes" }, "base64"],
  [10208, 400, { body: "***", content_type: "bytes" }, "base64"],
  [10208, 400, { body: [], content_type: "v8" }, "base64"],
  [10208, 400, { body: "wcHB", content_type: "v8" }, "pull"],
  [10207, 400, '{"body":', "JSON"],
  [10207, 400, "body=1", "JSON"],
  [10207, 400, `{"body":${"[".repeat(1001)}${"]".repeat(1001)}}`, "1000"],
  [10400, 400, "[]", "object"],
  [10400, 400, { body: 1, partition: "" }, "partition"],
  [10400, 400, { body: 1, partition: 7 }, "partition"],
])("refuses with %i (%i) the message %j", async (code, status, message, named) => {
  const { queue_id } = await freshQueue();
  const { path, metrics } = routes(queue_id);
  expect(await refused(call("POST", path, message), status, code)).toContain(named);
  if (typeof message === "object") {
    const batch = { messages: [{ body: "fine" }, message] };
    await refused(call("POST", `${path}/batch`, batch), status, code);
  }
  expect(await metrics()).toMatchObject({ backlog_count: 0 });
});

it.each<[code: number, status: number, batch: unknown, named: string]>([
  [10202, 400, { messages: [{ body: 1 }], delay_seconds: 86_401 }, "86401"],
  [10202, 400, { messages: [{ body: 1 }], delay_seconds: -1 }, "-1"],
  [
    10205,
    413,
    { messages: Array.from({ length: 3 }, () => ({ body: "x".repeat(96_001), content_type: "text" })) },
    "288003",
  ],
  [10206, 400, { messages: [] }, "empty"],
  [10206, 400, { messages: Array.from({ length: 101 }, () => ({ body: 1 })) }, "101"],
  [10400, 400, {}, "messages"],
  [10400, 400, { messages: {} }, "messages"],
  [10207, 400, "", "messages"],
])("refuses with %i (%i) a batch", async (code, status, batch, named) => {
  const { queue_id } = await freshQueue();
  const { path, metrics } = routes(queue_id);
  const wanted = batch === "" ? 10400 : code;
  expect(await refused(call("POST", `${path}/batch`, batch), status, wanted)).toContain(named);
  expect(await metrics()).toMatchObject({ backlog_count: 0 });
});

it("takes what is just within the limits", async () => {
  const { queue_id } = await freshQueue();
  const { push, path, metrics } = routes(queue_id);
  await push({ body: "x".repeat(128_000), content_type: "text", delay_seconds: 86_400 });
  const thirds = Array.from({ length: 3 }, () => ({ body: "x".repeat(96_000), content_type: "text" }));
  await result("POST", `${path}/batch`, { messages: thirds, delay_seconds: 86_400 });
  await result("POST", `${path}/batch`, { messages: Array.from({ length: 100 }, () => ({ body: 1 })) });
  expect(await metrics()).toMatchObject({ backlog_count: 104, backlog_bytes: 128_000 + 288_000 + 100 });
});

it("refuses a delay of a retry that is none", async () => {
  const { push, pull, path } = await pulled();
  await push({ body: 1 });
  const [message] = (await pull()).messages;
  for (const delay_seconds of [-1, 86_401, 0.5, "1"]) {
    const body = { retries: [{ lease_id: message?.lease_id, delay_seconds }] };
    await refused(call("POST", `${path}/ack`, body), 400, 10203);
  }
});
