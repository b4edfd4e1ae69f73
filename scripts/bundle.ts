import { join } from "node:path";
import { bundleWorker } from "../serve/bundle.ts";

/** Bundles the broker, for those who install it: as a Worker to export, and as one for their tests. */

const ROOT = join(import.meta.dirname, "..");

await bundleWorker(join(ROOT, "src/index.ts"), join(ROOT, "dist/worker-bundle/index.js"));
await bundleWorker(join(ROOT, "src/testing/broker.ts"), join(ROOT, "dist/testing/testing/broker.js"));
