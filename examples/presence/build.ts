import { join } from "node:path";
import { build } from "esbuild";

/** The folder that is served. */
export const PAGE = join(import.meta.dirname, "page");

/** Bundles the page's script with the client, which an app of your own has as the package `waggle-mq`. */
export async function buildPage(): Promise<void> {
  await build({
    entryPoints: [join(import.meta.dirname, "src/main.ts")],
    outfile: join(PAGE, "main.js"),
    bundle: true,
    format: "esm",
    target: "es2022",
    alias: { "waggle-mq": join(import.meta.dirname, "../../src/client/index.ts") },
    logLevel: "warning",
  });
}
