import { call, run } from "../run.ts";

run({
  folder: import.meta.dirname,
  port: 6642,
  app: "legacy",
  configs: ["producer/wrangler.toml"],
  waggle: `
# The Cloudflare Queues whose messages come here. Their own retries are what holds a message until Waggle has it.
[[queues.consumers]]
queue = "legacy-orders"
max_batch_timeout = 1
max_retries = 100
dead_letter_queue = "legacy-refused"

[[queues.consumers]]
queue = "legacy-signals"
max_batch_timeout = 1
max_retries = 100
dead_letter_queue = "legacy-refused"
`,
  async declare(url) {
    await call("POST", `${url}/api/v1/queues`, { queue_name: "orders" }).catch(() => {
      // It is there since the last time, and if it is not, the bridge is refused.
    });
    await call("PUT", `${url}/api/v1/bridges/legacy-orders`, { target: { kind: "durable", queue: "orders" } });
    await call("PUT", `${url}/api/v1/bridges/legacy-signals`, { target: { kind: "ephemeral", queue: "signals" } });
  },
});
