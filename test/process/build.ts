import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { removeAtExit } from "../../bench/children.ts";
import { buildBroker, type Build } from "../../bench/workerd.ts";

declare module "vitest" {
  interface ProvidedContext {
    build: Build;
  }
}

/**
 * All files of this project run one and the same build. The programs that they start, many of them many times, compile
 * what they load once: Node takes nothing from this cache whose source is not the same.
 */
export default async function setup(project: TestProject): Promise<void> {
  const cache = await mkdtemp(join(tmpdir(), "waggle-compile-cache-"));
  removeAtExit(cache);
  process.env["NODE_COMPILE_CACHE"] = cache;
  project.provide("build", await buildBroker());
}
