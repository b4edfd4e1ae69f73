import { join } from "node:path";
import { build } from "esbuild";

/** Bundles the broker, for those who install it: as a Worker to export, and as one for their tests. */

const ROOT = join(import.meta.dirname, "..");

async function bundle(entry: string, out: string): Promise<void> {
  await build({
    entryPoints: [join(ROOT, entry)],
    outfile: join(ROOT, out),
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "import"],
    target: "es2024",
    minify: true,
    keepNames: true,
    external: ["cloudflare:*"],
    loader: { ".sql": "text" },
  });
}

await bundle("src/index.ts", "dist/worker-bundle/index.js");
await bundle("src/testing/broker.ts", "dist/testing/testing/broker.js");
