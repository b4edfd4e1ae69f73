import { join } from "node:path";
import { unstable_readConfig as readConfig } from "wrangler";
import { call, run } from "../run.ts";

const folder = import.meta.dirname;

run({
  folder,
  port: 6641,
  app: "shop",
  configs: ["producer/wrangler.toml", "consumer/wrangler.toml"],
  waggle: `
# One for each Worker that consumes.
[[services]]
binding = "ORDERS_WORKER"
service = "orders-worker"
`,
  async declare(url) {
    // What stands in the Worker's own wrangler.toml is what it declares.
    const { name, queues } = readConfig({ config: join(folder, "consumer/wrangler.toml") });
    await call("POST", `${url}/api/v1/manifests`, { name, queues });
  },
});
