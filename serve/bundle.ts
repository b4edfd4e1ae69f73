import { build } from "esbuild";

/** Bundles a Worker of TypeScript or JavaScript into one module. Without `outfile` nothing is written. */
export async function bundleWorker(entry: string, outfile?: string): Promise<void> {
  await build({
    entryPoints: [entry],
    ...(outfile === undefined ? { write: false } : { outfile }),
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "import"],
    target: "es2024",
    minify: true,
    keepNames: true,
    external: ["cloudflare:*", "node:*"],
    loader: { ".sql": "text" },
    logLevel: "silent",
  });
}
