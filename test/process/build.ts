import type { TestProject } from "vitest/node";
import { buildBroker, type Build } from "../../bench/workerd.ts";

declare module "vitest" {
  interface ProvidedContext {
    build: Build;
  }
}

/** All files of this project run one and the same build. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide("build", await buildBroker());
}
