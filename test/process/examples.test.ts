import { afterEach, expect, it } from "vitest";
import { Dev } from "./wrangler-dev.ts";
import { eventually } from "./support.ts";

interface Peeked {
  result: { messages: { body: string; attempts: number; metadata: Record<string, unknown> }[] };
}

let example: Dev | null = null;

afterEach(async () => {
  await example?.stop();
  example = null;
});

/** The JSON bodies that wait in a queue. */
async function waiting(started: Dev, queue: string): Promise<unknown[]> {
  const { result } = await started.call<Peeked>("POST", `queues/${queue}/messages/peek`);
  return result.messages.map(({ body }) => JSON.parse(Buffer.from(body, "base64").toString()) as unknown);
}

it("orders: an untouched producer and consumer, with a delayed retry and a dead letter", async () => {
  const orders = (example = await Dev.example("examples/orders"));
  for (const item of ["book", "map", "unicorn"]) expect(await orders.get(`/?item=${item}`)).toBe(`ordered: ${item}\n`);
  await orders.says("shipped: book, at delivery 1");
  await orders.says("map is out of stock, again in 2 s");
  const retriedAt = Date.now();
  await orders.says("shipped: map, at delivery 2");
  expect(Date.now() - retriedAt).toBeGreaterThan(1500);
  await eventually(async () => (await waiting(orders, "orders-dead")).length, 1);
  expect(await waiting(orders, "orders-dead")).toEqual([{ item: "unicorn" }]);
  expect(orders.times("there is no unicorn")).toBe(3);
  expect(await waiting(orders, "orders")).toEqual([]);
});

it("bridge: from real Cloudflare Queues into a durable and an ephemeral queue", async () => {
  const bridge = (example = await Dev.example("examples/bridge"));
  expect(await bridge.get("/?item=book")).toBe("ordered: book\n");
  await eventually(async () => {
    const { result } = await bridge.call<Peeked>("POST", "queues/orders/messages/peek");
    return result.messages.length;
  }, 1);
  const { result } = await bridge.call<Peeked>("POST", "queues/orders/messages/peek");
  // The date in it is one still.
  expect(result.messages[0]?.metadata).toMatchObject({ "CF-Content-Type": "v8" });
  const popped = await bridge.call<{ messages: unknown[] }>(
    "GET",
    "ephemeral/pop?queue=signals&wait=true&timeout=10000&autoAck=true",
  );
  expect(popped.messages).toMatchObject([{ payload: { ordered: "book" } }]);
});

it("presence: a page that the broker serves, with its queue declared", async () => {
  const presence = (example = await Dev.example("examples/presence"));
  expect(await presence.get("/")).toContain("<title>presence</title>");
  expect(await presence.get("/main.js")).toContain("subscribe");
  const { queues } = await presence.call<{ queues: unknown[] }>("GET", "ephemeral/queues");
  expect(queues).toMatchObject([{ queue: "presence", tier: "declared", options: { ttlSeconds: 6 } }]);
});
