import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { eventually } from "./support.ts";
import { Served } from "./serve-support.ts";

/** Stands for Cloudflare's API, whose shapes the broker speaks. */
let cloud: Workerd;
let served: Served;

beforeAll(async () => {
  cloud = await startWorkerd({ build: inject("build") });
  served = await Served.in();
});

afterAll(async () => {
  await served?.remove();
  await cloud?.stop();
});

async function there<T>(path: string, body?: unknown): Promise<T> {
  const init: RequestInit = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(`${cloud.url}/client/v4/accounts/a/queues${path}`, init);
  return ((await response.json()) as { result: T }).result;
}

interface Peeked {
  messages: { id: string; body: string; metadata: Record<string, unknown> }[];
}

it("brings messages from a queue of Cloudflare's into one of its own, as they were, and acks them", async () => {
  await there("", { queue_name: "legacy" });
  await there("/legacy/consumers", { type: "http_pull" });
  await there("/legacy/messages", { body: { n: 1 } });
  await there("/legacy/messages", { body: "two", content_type: "text" });
  await there("/legacy/messages", { body: "AP8=", content_type: "bytes" });
  const { messages: sent } = await there<Peeked>("/legacy/messages/peek", {});
  await served.write("token", "any\n");
  const bridge = { account: "a", source: "legacy", queue: "orders", token: "token", url: `${cloud.url}/client/v4` };
  await served.configure({ bridges: [bridge] });
  await served.start();
  expect(served.said).toContain("bridge from legacy into orders");
  const here = async () => (await served.call<Peeked>("POST", "queues/orders/messages/peek", {})).messages;
  await eventually(async () => (await here()).length, 3);
  const shape = ({ id, body, metadata }: Peeked["messages"][number]) => [id, body, metadata["CF-Content-Type"]];
  expect((await here()).map(shape)).toEqual(sent.map(shape));
  const left = async () => (await there<{ backlog_count: number }>("/legacy/metrics")).backlog_count;
  await eventually(left, 0);

  // Over a kill of everything it goes on, and brings nothing a second time.
  await served.signalAll("SIGKILL");
  await there("/legacy/messages", { body: "later", content_type: "text" });
  await served.start();
  await eventually(async () => (await here()).length, 4);
  await eventually(left, 0);
});

it("--check says what is wrong with a bridge", async () => {
  await served.signalAll("SIGKILL");
  await served.configure({ bridges: [{ account: "a", source: "s", queue: "Not_Legal", token: "nowhere", url: "x" }] });
  expect(await served.run("--check")).toBe(1);
  for (const part of ["bridges[0].queue must be", "bridges[0].url must be", "bridges[0].token"]) {
    expect(served.said).toContain(part);
  }
});
