import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { buildOf, startWorkerd, type Workerd } from "../../bench/workerd.ts";

/** `wrangler queues ...` with another API base, and nothing else. */

const WRANGLER = join(import.meta.dirname, "..", "..", "node_modules", ".bin", "wrangler");

let workerd: Workerd;
let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "waggle-wrangler-"));
  const build = inject("build");
  workerd = await startWorkerd({
    build,
    services: { ORDERS_WORKER: { service: "orders-worker" } },
    workers: { "orders-worker": buildOf(join(import.meta.dirname, "consumer.js"), build) },
  });
});

afterAll(async () => {
  await workerd.stop();
  await rm(home, { recursive: true, force: true });
});

/** What `wrangler queues <args>` says; it must succeed. */
async function wrangler(...args: string[]): Promise<string> {
  const env = {
    PATH: process.env["PATH"],
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    HOME: home,
    CLOUDFLARE_API_BASE_URL: `${workerd.url}/client/v4`,
    CLOUDFLARE_ACCOUNT_ID: "023e105f4ecef8ad9ca31a8372d0c353",
    CLOUDFLARE_API_TOKEN: "any",
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_LOG_SANITIZE: "false",
    NO_COLOR: "1",
    CI: "1",
  };
  const { stdout } = await promisify(execFile)(process.execPath, [WRANGLER, "queues", ...args], { cwd: home, env });
  return stdout;
}

/** The queue as the broker's own API shows it. */
async function shown(queue: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${workerd.url}/api/v1/queues/${queue}`);
  return ((await response.json()) as { result: Record<string, unknown> }).result;
}

it("creates, lists, describes and updates a queue, pauses, resumes and purges it, manages its consumers, and deletes it", async () => {
  expect(await wrangler("create", "orders", "--delivery-delay-secs", "0")).toContain("Created queue 'orders'");
  await wrangler("create", "other", "--message-retention-period-secs", "120");
  const listed = await wrangler("list");
  for (const name of ["orders", "other"]) expect(listed).toContain(name);
  const { queue_id } = await shown("orders");
  const info = await wrangler("info", "orders");
  expect(info).toContain(`Queue ID: ${String(queue_id)}`);
  expect(info).toContain("Number of Consumers: 0");

  await wrangler("update", "orders", "--delivery-delay-secs", "7", "--message-retention-period-secs", "600");
  expect(await shown("orders")).toMatchObject({ settings: { delivery_delay: 7, message_retention_period: 600 } });
  expect(await wrangler("pause-delivery", "orders")).toContain("Paused message delivery for queue orders");
  expect(await shown("orders")).toMatchObject({ settings: { delivery_paused: true, delivery_delay: 7 } });
  expect(await wrangler("resume-delivery", "orders")).toContain("Resumed message delivery for queue orders");
  expect(await shown("orders")).toMatchObject({ settings: { delivery_paused: false } });

  const body = JSON.stringify({ body: 1, delay_seconds: 600 });
  await fetch(`${workerd.url}/api/v1/queues/orders/messages`, { method: "POST", body });
  expect(await shown("orders")).toMatchObject({ status: { delayed_count: 1 } });
  expect(await wrangler("purge", "orders", "--force")).toContain("Purged Queue 'orders'");
  expect(await shown("orders")).toMatchObject({ status: { delayed_count: 0 } });

  const worker = ["--batch-size", "5", "--batch-timeout", "2", "--message-retries", "1", "--max-concurrency", "3"];
  const rest = ["--retry-delay-secs", "9", "--dead-letter-queue", "dead"];
  await wrangler("consumer", "worker", "add", "orders", "orders-worker", ...worker, ...rest);
  expect(await shown("orders")).toMatchObject({
    consumers: [
      {
        type: "worker",
        script_name: "orders-worker",
        dead_letter_queue: "dead",
        settings: { batch_size: 5, max_wait_time_ms: 2000, max_retries: 1, max_concurrency: 3, retry_delay: 9 },
      },
    ],
  });
  await wrangler("consumer", "http", "add", "orders", "--batch-size", "4", "--visibility-timeout-secs", "60");
  const both = await wrangler("info", "orders");
  for (const line of ["Number of Consumers: 2", "HTTP Pull Consumer", "worker:orders-worker"])
    expect(both).toContain(line);
  expect(await wrangler("consumer", "worker", "list", "orders")).toContain("orders-worker");
  expect(await wrangler("consumer", "http", "list", "orders")).toContain("60000");
  await wrangler("consumer", "http", "remove", "orders");
  await wrangler("consumer", "worker", "remove", "orders", "orders-worker");
  expect(await shown("orders")).toMatchObject({ consumers: [] });

  expect(await wrangler("delete", "orders")).toContain("Deleted queue orders");
  expect(await wrangler("list")).not.toContain("orders");
}, 240_000);

it("hears why it is refused", async () => {
  const said = async (...args: string[]): Promise<string> => {
    const error = await wrangler(...args).then(
      () => expect.unreachable("wrangler succeeded"),
      (reason: unknown) => reason as { stdout: string; stderr: string },
    );
    return error.stdout + error.stderr;
  };
  await wrangler("create", "taken");
  expect(await said("create", "taken")).toContain("11009");
  expect(await said("consumer", "worker", "add", "taken", "nobody")).toContain("matches no service binding");
  expect(await said("info", "nowhere")).toContain("does not exist");
}, 120_000);
