import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { mintToken } from "../../src/auth/mint.ts";
import { parseKeys } from "../../src/auth/keys.ts";
import { operations } from "../../src/operations/index.ts";
import { KEYS } from "../auth/keys.ts";

const keys = JSON.stringify(KEYS);

let open: Workerd;
let closed: Workerd;
let client: Client;

beforeAll(async () => {
  const build = inject("build");
  open = await startWorkerd({ build });
  closed = await startWorkerd({ build, vars: { AUTH: "required", WAGGLE_KEYS: keys } });
  client = await connected(open.url);
});

afterAll(async () => {
  await client?.close();
  await open?.stop();
  await closed?.stop();
});

/** A session of the official client. */
async function connected(url: string, token?: string): Promise<Client> {
  const made = new Client({ name: "test", version: "1" });
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit: { headers } });
  // The SDK's own types are not made for exact optional properties.
  await made.connect(transport as Parameters<Client["connect"]>[0]);
  return made;
}

interface Answer {
  content: { type: string; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

const called = new Set<string>();

async function call(name: string, args: Record<string, unknown> = {}, by = client): Promise<Answer> {
  called.add(name);
  return (await by.callTool({ name, arguments: args })) as Answer;
}

/** What a tool answers that must succeed. */
async function result<T = Record<string, unknown>>(name: string, args: Record<string, unknown> = {}): Promise<T> {
  const { content, isError } = await call(name, args);
  expect(isError, content[0]?.text).toBeUndefined();
  return JSON.parse(content[0]?.text ?? "") as T;
}

it("names the server, and lists a tool for every verb of the command line", async () => {
  expect(client.getServerVersion()).toMatchObject({ name: "waggle" });
  expect(client.getInstructions()).toContain("doctor");
  const { tools } = await client.listTools();
  expect(tools.map(({ title }) => title)).toEqual(operations.map(({ name }) => name));
  for (const { name, title, description, inputSchema, annotations } of tools) {
    expect(name).toMatch(/^[a-z_]{1,64}$/);
    expect(description).not.toBe("");
    const isDestructive = operations.find((one) => one.name === title)?.isDestructive;
    expect([name, annotations?.destructiveHint, inputSchema.required?.includes("confirm")]).toEqual([
      name,
      isDestructive,
      isDestructive,
    ]);
    for (const [field, schema] of Object.entries(inputSchema.properties ?? {})) {
      expect(schema, `${name} ${field}`).toHaveProperty("description");
    }
  }
});

it("operates a durable queue", async () => {
  await result("queue_create", { queue: "orders", delaySeconds: 0 });
  const consumer = await result("queue_consume", { queue: "orders", pull: true });
  expect(await result("queue_send", { queue: "orders", bodies: [{ a: 1 }, "two"] })).toEqual({ sent: 2 });
  expect(await result("queue_ls")).toMatchObject([{ queue_name: "orders", metrics: { backlog_count: 2 } }]);
  expect(await result("queue_info", { queue: "orders" })).toMatchObject({ status: { ready_count: 2 } });
  expect((await result<{ messages: unknown[] }>("queue_peek", { queue: "orders" })).messages).toHaveLength(2);
  const tail = await result<{ messages: unknown[] }>("queue_tail", { queue: "orders", after: "start" });
  expect(tail.messages).toHaveLength(2);
  expect(await result("queue_set", { queue: "orders", retentionSeconds: 60 })).toMatchObject({
    settings: { message_retention_period: 60 },
  });
  expect(await result("queue_pause", { queue: "orders" })).toMatchObject({ settings: { delivery_paused: true } });
  expect(JSON.stringify(await result("doctor", { queue: "orders" }))).toContain("delivery is paused");
  await result("queue_resume", { queue: "orders" });
  expect(await result("queue_consumers", { queue: "orders" })).toMatchObject([{ type: "http_pull" }]);
  expect(await result("queue_dlq_replay", { queue: "orders" })).toEqual({ replayed: {}, skipped: 2 });
  await result("queue_unconsume", { queue: "orders", consumer: consumer["consumer_id"], confirm: true });
});

it("ejects and imports", async () => {
  const begun = await result<{ eject_id: string; partitions: { cursor: string }[] }>("eject", { queue: "orders" });
  const [first] = begun.partitions;
  const page = await result<{ messages: Record<string, unknown>[]; cursor: string | null }>("eject", {
    queue: "orders",
    cursor: first?.cursor,
  });
  expect(page.messages).toHaveLength(2);
  await result("queue_purge", { queue: "orders", confirm: true });
  const messages = page.messages.map(({ id, content_type, body, timestamp_ms }, i) => ({
    number: i + 1,
    id,
    content_type,
    body,
    timestamp_ms,
  }));
  const input = { queue: "orders", source: begun.eject_id, messages };
  expect(await result("import", input)).toEqual({ imported: 2, repeated: 0 });
  expect(await result("import", input)).toEqual({ imported: 0, repeated: 2 });
  await result("queue_rm", { queue: "orders", confirm: true });
});

it("operates an ephemeral queue", async () => {
  await result("ephemeral_configure", { queue: "rooms", ttlSeconds: 60 });
  expect(await result("ephemeral_push", { queue: "rooms", payloads: [1, 2] })).toEqual({ pushed: 2 });
  expect(await result("ephemeral_ls")).toMatchObject({ queues: [{ queue: "rooms", depth: 2 }] });
  expect((await result<{ messages: unknown[] }>("ephemeral_peek", { queue: "rooms" })).messages).toHaveLength(2);
  const pop = (limit: number) => result("ephemeral_pop", { queue: "rooms", group: "g", limit });
  expect(await pop(1)).toMatchObject({ messages: [{ payload: 1 }] });
  // One more group sees what is there, and takes nothing from the one that is.
  expect(await result("ephemeral_tail", { queue: "rooms" })).toMatchObject({ messages: [{ payload: 2 }] });
  expect(await pop(10)).toMatchObject({ messages: [{ payload: 2 }] });
  expect(await result("ephemeral_depth", { queue: "rooms" })).toMatchObject({ queue: "rooms" });
  expect(JSON.stringify(await result("ephemeral_groups", { queue: "rooms" }))).toContain('"g"');
  await result("ephemeral_drop_group", { queue: "rooms", group: "g", confirm: true });
  await result("ephemeral_reset", { queue: "rooms", confirm: true });
  await result("ephemeral_rm", { queue: "rooms", confirm: true });
});

it("declares what a Worker's configuration names", async () => {
  const queues = { consumers: [{ queue: "applied", type: "http_pull" }] };
  expect(await result("apply", { name: "w", queues })).toMatchObject({ queues: [{ queue_name: "applied" }] });
});

it("what cannot be taken back needs a confirmation", async () => {
  await result("queue_create", { queue: "kept" });
  for (const args of [{ queue: "kept" }, { queue: "kept", confirm: false }, { queue: "kept", confirm: "true" }]) {
    expect(await call("queue_rm", args)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('"confirm": true') }],
    });
  }
  expect(await result("queue_info", { queue: "kept" })).toMatchObject({ queue_name: "kept" });
});

it("a refusal is a result that says why", async () => {
  expect(await call("queue_info", { queue: "nothing" })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("[10104]") }],
  });
  const unknown = await call("queue_peek", { queue: "x", depth: 3 });
  expect(unknown).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("depth") }] });
  await expect(call("no_such_tool")).rejects.toThrow("there is no tool");
  called.delete("no_such_tool");
});

it("does what the caller's token lets it do, and nothing without one", async () => {
  await expect(connected(closed.url)).rejects.toThrow();
  const admin = await connected(closed.url, await mintToken(parseKeys(keys), { admin: true }, 60));
  await call("queue_create", { queue: "guarded" }, admin);
  const minted = await call("token_mint", { claims: { queues: [{ queue: "guarded", verbs: ["send"] }] } }, admin);
  const sender = await connected(closed.url, String(minted.structuredContent?.["token"]));
  expect((await call("queue_send", { queue: "guarded", bodies: [1] }, sender)).isError).toBeUndefined();
  expect(await call("queue_purge", { queue: "guarded", confirm: true }, sender)).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("purge") }],
  });
  await Promise.all([admin.close(), sender.close()]);
});

it("is not for foreign pages, nor for what is no message of the protocol", async () => {
  const send = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${open.url}/mcp`, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  expect(await (await send(ping)).json()).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  expect((await send(ping, { origin: "https://evil.example" })).status).toBe(403);
  expect((await send(ping, { origin: open.url })).status).toBe(200);
  expect((await send('{"jsonrpc":"2.0","method":"notifications/initialized"}')).status).toBe(202);
  const code = async (body: string) => ((await (await send(body)).json()) as { error: { code: number } }).error.code;
  expect(await code("{")).toBe(-32_700);
  expect(await code("[]")).toBe(-32_600);
  expect(await code('{"jsonrpc":"2.0","id":1,"method":"resources/list"}')).toBe(-32_601);
  expect(await code('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}')).toBe(-32_602);
  const answer = await fetch(`${open.url}/mcp`);
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
});

it("every tool was called", async () => {
  const { tools } = await client.listTools();
  expect([...called].toSorted()).toEqual(tools.map(({ name }) => name).toSorted());
});
