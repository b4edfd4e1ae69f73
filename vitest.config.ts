import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { KEYS } from "./test/auth/keys.ts";
import { consumers } from "./test/process/delivery-consumers.ts";

/** A machine that is busy with something else must not fail a test. */
const PATIENCE_MS = 30_000;

/** What has nothing to do with where a queue's parts live: sleep, restarts, crowds, and what no owner is asked for. */
const ANYWHERE = [
  "checkpoint",
  "sleep*",
  "parked-crowd",
  "auth",
  "bad-input",
  "body-limit",
  "configure-options",
  "unknown-routes",
].map((name) => `test/broker/${name}.test.ts`);

/** The suite of the broker as a whole runs with one owner and with many: where a queue's parts live must not show. */
function broker(owners: number, exclude: string[] = []) {
  return {
    plugins: [
      cloudflareTest({
        wrangler: { configPath: "./wrangler.toml" },
        miniflare: { bindings: { AUTH: "off", OWNERS: owners } },
      }),
    ],
    test: {
      name: `owners=${owners}`,
      include: ["test/broker/**/*.test.ts"],
      exclude,
      setupFiles: ["./test/broker/setup.ts"],
      // A runtime for each file takes longer than the tests in most of them.
      isolate: false,
      testTimeout: PATIENCE_MS,
    },
  };
}

/** A consumer Worker that only has to be there. */
const idle = {
  name: "idle",
  modules: true as const,
  script: "export default { async queue() {} }",
  compatibilityDate: "2026-10-28",
};

/** How property tests are to run: the Workers runtime sees only what it is given of the environment. */
function wanted(): Record<string, string> {
  const names = ["WAGGLE_RUNS", "WAGGLE_SEED"];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/**
 * What drives real processes comes first: those files take longest, and some of them wait through half a minute. At the
 * end of a run, one of them would have the machine for itself.
 */
class ProcessesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const { process = [], others = [] } = Object.groupBy(sorted, ({ project }) =>
      project.name === "process" ? "process" : "others",
    );
    return [...process, ...others];
  }
}

export default defineConfig({
  test: {
    maxWorkers: 2,
    sequence: { sequencer: ProcessesFirst },
    projects: [
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./wrangler.toml" } })],
        test: {
          name: "engine",
          include: ["test/engine/**/*.test.ts", "test/durable-core/**/*.test.ts", "test/unit/**/*.test.ts"],
          env: wanted(),
          isolate: false,
          testTimeout: PATIENCE_MS,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              bindings: { AUTH: "off" },
              serviceBindings: { ORDERS_WORKER: idle.name, MAIL: idle.name },
              workers: [idle],
            },
          }),
        ],
        test: {
          name: "durable",
          include: ["test/durable/**/*.test.ts"],
          setupFiles: ["./test/durable/setup.ts"],
          isolate: false,
          testTimeout: PATIENCE_MS,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: { bindings: { AUTH: "required", WAGGLE_KEYS: JSON.stringify(KEYS), OWNERS: 2 } },
          }),
        ],
        test: { name: "auth", include: ["test/auth/**/*.test.ts"], isolate: false, testTimeout: PATIENCE_MS },
      },
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./wrangler.toml" }, miniflare: consumers })],
        test: { name: "delivery", include: ["test/delivery/**/*.test.ts"], isolate: false, testTimeout: PATIENCE_MS },
      },
      // Against real processes, from outside: raw `workerd`, `wrangler dev`, a build for deployment.
      {
        test: {
          name: "process",
          include: ["test/process/**/*.test.ts"],
          globalSetup: "./test/process/build.ts",
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      broker(1, ANYWHERE),
      broker(8),
    ],
  },
});
