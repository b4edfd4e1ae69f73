import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Dev, writeWaggleConfig } from "./wrangler-dev.ts";
import { eventually } from "./support.ts";

const ROOT = join(import.meta.dirname, "..", "..");

interface Status {
  result: { status: { last_outcome: string | null; last_error: string | null } };
}
interface Peeked {
  result: { messages: { attempts: number }[] };
}

let dir: string;
let consumers: Dev;
let waggle: Dev;

/** A Worker with a handler that writes down what it gets. */
async function worker(name: string, wrap: (handlers: string) => string): Promise<string> {
  const handlers = `{ async queue(batch) {
    for (const { body, attempts } of batch.messages) console.log("${name} got", body, "at", attempts);
  } }`;
  await writeFile(join(dir, `${name}.ts`), wrap(handlers));
  const config = `name = "${name}"\nmain = "${name}.ts"\ncompatibility_date = "2026-10-28"\ndev.inspector_port = 0\n`;
  await writeFile(join(dir, `${name}.toml`), config);
  return `${name}.toml`;
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "waggle-dev-processes-"));
  const env = { WRANGLER_REGISTRY_PATH: join(dir, "registry") };
  const helper = JSON.stringify(join(ROOT, "src/consumer/index.ts"));
  const configs = [
    await worker("helped", (handlers) => `import { consumer } from ${helper}; export default consumer(${handlers});`),
    await worker("plain", (handlers) => `export default ${handlers};`),
  ];
  const services = ["helped", "plain", "missing"].map(
    (name) => `[[services]]\nbinding = "${name.toUpperCase()}"\nservice = "${name}"\n`,
  );
  const config = await writeWaggleConfig(dir, services.join("\n"));
  consumers = await Dev.wrangler(dir, configs, env);
  waggle = await Dev.wrangler(dir, [config], env);
}, 120_000);

afterAll(async () => {
  await Promise.all([waggle?.stop(), consumers?.stop()]);
  await rm(dir, { recursive: true, force: true });
});

/** Declares a queue that a consumer Worker is to empty, and sends one message. */
async function send(consumer: string): Promise<void> {
  await waggle.call("POST", "queues", { queue_name: consumer });
  await waggle.call("POST", `queues/${consumer}/consumers`, { type: "worker", script_name: consumer });
  await waggle.call("POST", `queues/${consumer}/messages`, { body: "hello", content_type: "text" });
}

async function attempts(queue: string): Promise<number[]> {
  const { result } = await waggle.call<Peeked>("POST", `queues/${queue}/messages/peek`);
  return result.messages.map((message) => message.attempts);
}

it("reaches a consumer with the helper in another process", async () => {
  await send("helped");
  await consumers.says("helped got hello at 1");
  await eventually(async () => (await attempts("helped")).length, 0);
});

it.each([
  ["plain", "Illegal invocation"],
  ["missing", 'Worker "missing" not found'],
])("does not reach a consumer that is %s, says so, and counts no attempt", async (consumer, problem) => {
  await send(consumer);
  const status = async () => (await waggle.call<Status>("GET", `queues/${consumer}`)).result.status;
  await eventually(async () => (await status()).last_outcome, "unreachable");
  expect((await status()).last_error).toContain(problem);
  expect(await attempts(consumer)).toEqual([0]);
});
