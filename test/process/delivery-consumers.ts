import { readFileSync } from "node:fs";
import { join } from "node:path";
import { transformWithOxc } from "vite";

const ROOT = join(import.meta.dirname, "..", "..");

const HELPER = [
  "src/consumer/index.ts",
  "src/consumer/run.ts",
  "src/consumer/background.ts",
  "src/delivery/ending.ts",
  "src/delivery/protocol.ts",
  "src/delivery/retry-delay.ts",
  "src/contract/queue-limits.ts",
];

async function moduleOf(file: string) {
  const path = join(ROOT, file);
  const { code } = await transformWithOxc(readFileSync(path, "utf8"), path);
  return { type: "ESModule" as const, path, contents: code };
}

/** A consumer of `test/delivery`, as a Worker of its own; it is given nothing of the broker but, if any, the helper. */
async function worker(name: string, compatibilityDate: string, more: string[] = []) {
  const main = `test/delivery/consumers/${name}.ts`;
  const modules = await Promise.all([main, "test/delivery/consumers/script.ts", ...more].map(moduleOf));
  return { name, compatibilityDate, modulesRoot: ROOT, modules, bindings: { COLOUR: "green" } };
}

/** The Workers that batches are delivered to in the tests of delivery, old and new. */
export const consumers = {
  // Small enough to be filled.
  bindings: { AUTH: "off", QUEUE_MAX_BYTES: 100_000 },
  workers: [
    await worker("object", "2022-06-01"),
    await worker("class", "2024-06-01"),
    await worker("wrapped", "2026-10-28", HELPER),
  ],
  serviceBindings: {
    OBJECT: "object",
    NAMED: { name: "object", entrypoint: "Named" },
    SILENT: { name: "object", entrypoint: "Silent" },
    CLASS: "class",
    WRAPPED: "wrapped",
    WRAPPED_CLASS: { name: "wrapped", entrypoint: "Named" },
    STRANGE: { name: "wrapped", entrypoint: "Strange" },
  },
};
