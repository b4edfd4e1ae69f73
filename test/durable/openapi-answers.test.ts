import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { brokerFrame } from "../../src/openapi/socket-frames.ts";
import type { Schema } from "../../src/openapi/operation.ts";
import { operations } from "../../src/openapi/operations.ts";
import { call, freshName } from "./support.ts";

interface Asked {
  params?: Record<string, string>;
  query?: string;
  body?: unknown;
}

/** Routes whose answers have been held against what the document says of them. */
const asked = new Set<string>();

/** What answers no JSON, and what needs AUTH = "required": `test/auth/tokens.test.ts` has that. */
const ELSEWHERE = ["GET /metrics", "GET /api/v1/ephemeral/subscribe", "POST /api/v1/tokens"];

function send(key: string, { params = {}, query = "", body }: Asked): Promise<Response> {
  const [method = "", path = ""] = key.split(" ");
  return call(method, path.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? "missing") + query, body);
}

/** An answer holds what the schema says and nothing beside: what it does not name, parsing leaves out. */
function holds(schema: Schema | undefined, answer: unknown): void {
  if (schema === undefined) throw new Error("no schema describes this answer");
  expect(z.parse(schema, answer)).toEqual(answer);
}

/** Calls a route, and holds the answer against its schema. */
// oxlint-disable-next-line typescript/no-explicit-any -- what a test reads of an answer has just been checked
async function ask(key: string, how: Asked = {}): Promise<any> {
  const response = await send(key, how);
  const answer = await response.json<{ result?: unknown }>();
  const described = operations[key]?.answers.find(({ status }) => status === response.status);
  expect(described, `${key}: ${response.status} ${JSON.stringify(answer)}`).toBeDefined();
  holds(described?.schema, answer);
  if (how.body !== undefined) expect(() => z.parse(operations[key]?.body as Schema, how.body)).not.toThrow();
  asked.add(key);
  return "result" in answer ? answer.result : answer;
}

/** Calls a route that must refuse with a code that the document names. */
async function refuses(key: string, how: Asked, code: string | number): Promise<void> {
  const answer = await (await send(key, how)).json<{ code?: string; errors?: { code: number }[] }>();
  expect(answer.code ?? answer.errors?.[0]?.code, JSON.stringify(answer)).toBe(code);
  expect(operations[key]?.errors).toContain(code);
}

function at(params: Record<string, string>, body?: unknown): Asked {
  return { params: { account: "a", ...params }, ...(body !== undefined && { body }) };
}

describe.each(["/api/v1/queues", "/client/v4/accounts/:account/queues"])("below %s", (mount) => {
  it("queues are as described", async () => {
    const queue = freshName();
    await ask(`POST ${mount}`, at({}, { queue_name: queue, settings: { delivery_delay: 3 } }));
    await ask(`GET ${mount}`, { ...at({}), query: `?name=${queue}&page=1&per_page=2` });
    await ask(`PATCH ${mount}/:queue`, at({ queue }, { settings: { delivery_paused: true } }));
    await ask(`PUT ${mount}/:queue`, at({ queue }, {}));
    await ask(`POST ${mount}/:queue/purge`, at({ queue }, { delete_messages_permanently: true }));
    await ask(`GET ${mount}/:queue/purge`, at({ queue }));
    await refuses(`POST ${mount}`, at({}, { queue_name: queue }), 11009);
    await refuses(`POST ${mount}`, at({}, { queue_name: "Bad Name" }), 10400);
    await refuses(`GET ${mount}/:queue`, at({ queue: "not-there" }), 10104);
    await ask(`DELETE ${mount}/:queue`, at({ queue }));
  });

  it("consumers are as described", async () => {
    const queue = freshName();
    const dead = freshName();
    await ask(`POST ${mount}`, at({}, { queue_name: queue }));
    const settings = { batch_size: 5, max_concurrency: 2 };
    const worker = { type: "worker", script_name: "mail", dead_letter_queue: dead, settings };
    const { consumer_id: consumer } = await ask(`POST ${mount}/:queue/consumers`, at({ queue }, worker));
    await ask(
      `POST ${mount}/:queue/consumers`,
      at({ queue }, { type: "http", url: "https://consumer.test/", secret: "s" }),
    );
    await ask(`POST ${mount}/:queue/consumers`, at({ queue }, { type: "http_pull" }));
    await ask(`GET ${mount}/:queue/consumers`, at({ queue }));
    await ask(`GET ${mount}/:queue/consumers/:consumer`, at({ queue, consumer }));
    await ask(`PUT ${mount}/:queue/consumers/:consumer`, at({ queue, consumer }, { ...worker, settings: {} }));
    await ask(`GET ${mount}/:queue`, at({ queue }));
    await ask(`DELETE ${mount}/:queue/consumers/:consumer`, at({ queue, consumer }));
    await refuses(`GET ${mount}/:queue/consumers/:consumer`, at({ queue, consumer }), 10404);
    await refuses(`POST ${mount}/:queue/consumers`, at({ queue }, { type: "http", url: "x" }), 10400);
  });

  it("messages are as described", async () => {
    const queue = freshName();
    await ask(`POST ${mount}`, at({}, { queue_name: queue }));
    await refuses(`POST ${mount}/:queue/messages/pull`, at({ queue }, {}), 10404);
    await ask(`POST ${mount}/:queue/consumers`, at({ queue }, { type: "http_pull" }));
    await ask(`POST ${mount}/:queue/messages`, at({ queue }, { body: { a: 1 }, partition: "p" }));
    const messages = [
      { body: "AQID", content_type: "bytes" },
      { body: "later", content_type: "text", delay_seconds: 60 },
    ];
    await ask(`POST ${mount}/:queue/messages/batch`, at({ queue }, { messages, delay_seconds: 0 }));
    const pulled = await ask(`POST ${mount}/:queue/messages/pull`, at({ queue }, { batch_size: 10 }));
    expect(pulled.messages).toHaveLength(2);
    const peeked = await ask(`POST ${mount}/:queue/messages/peek`, at({ queue }, { batch_size: 10 }));
    expect(peeked.messages).toHaveLength(3);
    await ask(`POST ${mount}/:queue/messages/peek`, at({ queue }, { after: "end" }));
    const [one, two] = pulled.messages as { lease_id: string }[];
    const settled = {
      acks: [{ lease_id: one?.lease_id }, { lease_id: "nothing" }],
      retries: [{ lease_id: two?.lease_id, delay_seconds: 9 }],
    };
    expect(await ask(`POST ${mount}/:queue/messages/ack`, at({ queue }, settled))).toMatchObject({ ackCount: 1 });
    const refs = [{ ref: peeked.messages[0].ref }, { ref: "none" }];
    await ask(`POST ${mount}/:queue/messages/purge`, at({ queue }, { refs }));
    const kept = { number: 1, id: "m", content_type: "text", body: "kept", timestamp_ms: 1_700_000_000_000 };
    const begun = await ask(`POST ${mount}/:queue/eject`, at({ queue }, {}));
    const { cursor } = begun.partitions[0];
    await ask(`POST ${mount}/:queue/eject/page`, at({ queue }, { cursor, max_bytes: 1 }));
    await refuses(`POST ${mount}/:queue/eject/page`, at({ queue }, { cursor: "none" }), 10400);
    await ask(`POST ${mount}/:queue/import`, at({ queue }, { source: "file", partition: "p", messages: [kept] }));
    await ask(`GET ${mount}/:queue/metrics`, at({ queue }));
    await ask(`GET ${mount}/:queue`, at({ queue }));
    await refuses(`POST ${mount}/:queue/messages`, at({ queue }, { body: 1, content_type: "xml" }), 10203);
    await refuses(`POST ${mount}/:queue/messages`, at({ queue }, {}), 10208);
    await refuses(`POST ${mount}/:queue/messages/batch`, at({ queue }, { messages: [] }), 10206);
    await refuses(`POST ${mount}/:queue/messages/pull`, at({ queue }, { batch_size: 101 }), 10400);
    await ask(`PATCH ${mount}/:queue`, at({ queue }, { settings: { delivery_paused: true } }));
    await refuses(`POST ${mount}/:queue/messages/pull`, at({ queue }, {}), 10252);
  });
});

it("manifests and bridges are as described", async () => {
  const consumers = [{ queue: freshName(), max_batch_size: 5, visibility_timeout_ms: 1000 }];
  const producers = [{ binding: "OUT", queue: freshName() }];
  const manifest = { name: "orders-worker", queues: { producers, consumers } };
  await ask("POST /api/v1/manifests", { body: manifest });
  const fewer = { ...manifest, queues: { producers } };
  expect((await ask("POST /api/v1/manifests", { body: fewer })).removed_consumers).toHaveLength(1);
  await refuses("POST /api/v1/manifests", { body: { name: "x" } }, 10400);
  const params = { source: "legacy" };
  const target = { kind: "ephemeral", queue: "q", partition: "p" };
  await ask("PUT /api/v1/bridges/:source", { params, body: { target } });
  await ask("GET /api/v1/bridges/:source", { params });
  await ask("GET /api/v1/bridges");
  await ask("DELETE /api/v1/bridges/:source", { params });
  await refuses("GET /api/v1/bridges/:source", { params }, 10404);
});

it("ephemeral queues are as described", async () => {
  const params = { queue: "described", group: "g" };
  const { queue } = params;
  await ask("POST /api/v1/ephemeral/configure", { body: { queue, options: { ttlSeconds: 9, maxLength: 1 } } });
  await ask("POST /api/v1/ephemeral/push", { body: { queue, key: "k", messages: [{ payload: { a: [1] } }] } });
  await refuses("POST /api/v1/ephemeral/push", { body: { queue, messages: [{ payload: 2 }] } }, "queue_full");
  await refuses("POST /api/v1/ephemeral/push", { body: { messages: [] } }, "ephemeral_bad_request");
  const idle = { queue: "nobody", requireResponders: true, messages: [] };
  await refuses("POST /api/v1/ephemeral/push", { body: idle }, "no_responders");
  const { messages } = await ask("GET /api/v1/ephemeral/pop", { query: `?queue=${queue}&group=g` });
  expect(messages).toHaveLength(1);
  await ask("GET /api/v1/ephemeral/queues");
  await ask("GET /api/v1/ephemeral/queues/:queue/peek", { params, query: "?limit=5" });
  const begun = await ask("POST /api/v1/ephemeral/eject", { body: { queue } });
  const { cursor } = begun.partitions[0];
  await ask("POST /api/v1/ephemeral/eject/page", { body: { queue, cursor, maxBytes: 1 } });
  const file = { source: "file", partition: "p", messages: [{ number: 1, payload: 1 }] };
  await ask("POST /api/v1/ephemeral/import", { body: { queue: `${queue}-2`, ...file } });
  await refuses("POST /api/v1/ephemeral/import", { body: { queue, ...file, source: "" } }, "ephemeral_bad_request");
  await ask("POST /api/v1/ephemeral/remove", { body: { queue, ids: ["none"] } });
  await ask("GET /api/v1/ephemeral/queues/:queue/depth", { params, query: "?group=g" });
  const missing = { params: { queue: "not-there" } };
  await refuses("GET /api/v1/ephemeral/queues/:queue/depth", missing, "ephemeral_queue_not_found");
  const acks = [{ id: messages[0].id, attempts: 1, status: "completed" }, { id: "none" }];
  await ask("POST /api/v1/ephemeral/ack", { body: { queue, group: "g", acks } });
  await ask("DELETE /api/v1/ephemeral/queues/:queue/groups/:group", { params });
  await ask("POST /api/v1/ephemeral/reset", { body: { queue } });
  await ask("DELETE /api/v1/ephemeral/queue/:queue", { params });
  await refuses("GET /api/v1/ephemeral/subscribe", { query: "?queue=q" }, "upgrade_required");
});

/** Refused, as nobody listens. */
const UNHEARD = { type: "push", ref: 2, queue: "unheard", requireResponders: true, messages: [] };

it("frames of a subscription are as described", async () => {
  const headers = { upgrade: "websocket" };
  const { exports } = await import("cloudflare:workers");
  const broker = (exports as unknown as { default: Fetcher }).default;
  const { webSocket } = await broker.fetch("http://waggle/api/v1/ephemeral/subscribe?queue=framed", { headers });
  if (webSocket === null) throw new Error("there is no socket");
  const types: string[] = [];
  const all = Promise.withResolvers<void>();
  webSocket.addEventListener("message", ({ data }) => {
    try {
      const frame = JSON.parse(String(data)) as { type: string; messages?: { id: string }[] };
      holds(brokerFrame, frame);
      types.push(frame.type);
      const [message] = frame.messages ?? [];
      if (message) webSocket.send(JSON.stringify({ type: "ack", ref: "r", acks: [{ id: message.id }] }));
      if (frame.type === "acked") webSocket.send(JSON.stringify(UNHEARD));
      if (frame.type === "error") all.resolve();
    } catch (error) {
      all.reject(error);
    }
  });
  webSocket.accept();
  webSocket.send(JSON.stringify({ type: "push", ref: 1, messages: [{ payload: 1.5 }] }));
  await all.promise;
  webSocket.close();
  expect(types.toSorted()).toEqual(["acked", "error", "messages", "pushed", "subscribed"]);
});

it("the routes of the broker as a whole are as described", async () => {
  await ask("GET /health");
  await ask("GET /api/v1/system/owners", { query: "?queue=described" });
  await ask("GET /api/v1/system/overview");
  await ask("POST /api/v1/tickets", {});
  await ask("POST /mcp", { body: { jsonrpc: "2.0", id: 1, method: "tools/list" } });
});

it("every answer has been held against its schema", () => {
  expect([...asked, ...ELSEWHERE].toSorted()).toEqual(Object.keys(operations).toSorted());
});
