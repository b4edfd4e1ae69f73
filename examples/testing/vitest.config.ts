import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { waggle } from "waggle-mq/testing";

export default defineConfig({
  plugins: [
    cloudflareTest({
      wrangler: { configPath: "./wrangler.toml" },
      miniflare: {
        // The broker, beside the Worker under test.
        workers: [waggle()],
        serviceBindings: { WAGGLE: { name: "waggle", entrypoint: "Testing" } },
      },
    }),
  ],
});
