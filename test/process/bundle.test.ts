import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { expect, inject, it } from "vitest";

it("the Worker builds for deployment and stays under 150 KB gzipped", async () => {
  const { modules } = inject("build");
  const texts = await Promise.all(modules.map(({ path }) => readFile(path)));
  const bytes = texts.reduce((sum, text) => sum + gzipSync(text).byteLength, 0);
  expect(bytes).toBeLessThanOrEqual(150 * 1024);
});
