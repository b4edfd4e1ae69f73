import { createExecutionContext } from "cloudflare:test";
import { env as bindings, exports } from "cloudflare:workers";
import { beforeAll, expect, it } from "vitest";
import { WaggleUnderTest } from "waggle-mq/testing";
import worker, { type Env, type Order } from "../src/index.ts";

const env = bindings as unknown as Env & { WAGGLE: unknown };
const waggle = new WaggleUnderTest(env.WAGGLE);

function order(body: Order): Promise<Response> {
  const { default: shop } = exports as unknown as { default: Fetcher };
  return shop.fetch("http://shop/", { method: "POST", body: JSON.stringify(body) });
}

function deliver() {
  return waggle.deliver("orders", worker, env, createExecutionContext());
}

beforeAll(() => waggle.declare("orders", { dead_letter_queue: "orders-dead", settings: { max_retries: 0 } }));

it("ships what is ordered", async () => {
  expect((await order({ item: "book", quantity: 1 })).status).toBe(202);
  expect(await deliver()).toEqual({ messages: 1, acked: 1, retried: 0, error: null });
  await waggle.drained("orders");
});

it("keeps an order over a restart of the broker", async () => {
  await order({ item: "map", quantity: 2 });
  await waggle.evict();
  expect(await waggle.backlog("orders")).toBe(1);
  await waggle.crash();
  expect(await deliver()).toMatchObject({ messages: 1, acked: 1 });
  await waggle.drained("orders");
});

it("gives up what cannot be shipped", async () => {
  await order({ item: "unicorn", quantity: 1 });
  expect(await deliver()).toMatchObject({ messages: 1, retried: 1, error: "Error: there are no unicorns" });
  await waggle.drained("orders");
  expect(await waggle.backlog("orders-dead")).toBe(1);
});
