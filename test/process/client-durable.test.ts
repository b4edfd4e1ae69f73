import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { Waggle } from "../../src/client/index.ts";

let workerd: Workerd;
let waggle: Waggle;

beforeAll(async () => {
  workerd = await startWorkerd({ build: inject("build") });
  waggle = new Waggle(`${workerd.url}/`, { token: async () => "unused" });
  const declare = async (path: string, body: unknown) => {
    const response = await fetch(`${workerd.url}/api/v1/queues${path}`, { method: "POST", body: JSON.stringify(body) });
    expect(response.status).toBe(200);
  };
  await declare("", { queue_name: "orders" });
  await declare("/orders/consumers", { type: "http_pull" });
});
afterAll(() => workerd.stop());

it("sends, pulls, acks and retries", async () => {
  const orders = waggle.queues("orders");
  expect(await orders.send({ item: "book", price: "3 €" })).toMatchObject({ backlogCount: 1 });
  const bytes = Uint8Array.from({ length: 20_000 }, (_, i) => i % 256);
  const metrics = await orders.sendBatch([
    { body: "plain é", contentType: "text" },
    { body: bytes, contentType: "bytes" },
    { body: bytes.slice(0, 3).buffer, contentType: "bytes" },
  ]);
  expect(metrics.backlogCount).toBe(4);
  expect(metrics.oldestMessageTimestamp).toBeInstanceOf(Date);

  const { messages, backlogCount } = await orders.pull({ batchSize: 10 });
  expect(backlogCount).toBe(4);
  expect(messages.map(({ contentType, body, attempts }) => [contentType, body, attempts])).toEqual([
    ["json", { item: "book", price: "3 €" }, 1],
    ["text", "plain é", 1],
    ["bytes", bytes, 1],
    ["bytes", Uint8Array.of(0, 1, 2), 1],
  ]);
  const [again, ...rest] = messages;
  const answer = await orders.ack(rest, [again?.leaseId ?? ""]);
  expect(answer).toEqual({ ackCount: 3, retryCount: 1, warnings: {} });
  const second = await orders.pull({ waitMs: 5000 });
  expect(second.messages).toMatchObject([{ id: again?.id, attempts: 2, body: { item: "book" } }]);
  expect(await orders.ack([...second.messages, "no-such-lease"])).toMatchObject({
    ackCount: 1,
    warnings: { "no-such-lease": expect.any(String) },
  });
  expect(await orders.pull()).toEqual({ messages: [], backlogCount: 0 });
});

it("refusals carry the number that Cloudflare gives them", async () => {
  await expect(waggle.queues("nowhere").send(1)).rejects.toMatchObject({ code: "10104", status: 404 });
  await expect(waggle.queues("orders").send("x", { delaySeconds: -1 })).rejects.toMatchObject({ code: "10203" });
  await expect(waggle.queues("orders").send("x", { contentType: "bytes" })).rejects.toThrow("must be a Uint8Array");
});

it("a send whose answer is lost is not repeated, since it may have arrived", async () => {
  let calls = 0;
  const lossy: typeof fetch = async (input, init) => {
    calls++;
    await fetch(input, init);
    throw new TypeError("the connection is lost");
  };
  const orders = new Waggle(workerd.url, { fetch: lossy }).queues("orders");
  await expect(orders.send("once")).rejects.toMatchObject({ code: "network_error" });
  expect(calls).toBe(1);
  const { messages } = await waggle.queues("orders").pull({ waitMs: 5000 });
  expect(messages).toHaveLength(1);
});
