import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
const PATIENCE_MS = 180_000;
const execute = promisify(execFile);
const node = process.execPath;

/** A project of somebody who has installed the package. */
let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "waggle-testing-"));
  const modules = join(project, "node_modules");
  const installed = join(modules, "waggle-mq");
  await mkdir(installed, { recursive: true });
  const { stdout } = await execute("npm", ["pack", "--silent", "--pack-destination", project], { cwd: ROOT });
  await execute("tar", ["-xzf", join(project, stdout.trim()), "-C", installed, "--strip-components=1"]);
  for (const scope of ["@cloudflare", "vitest", "wrangler"]) {
    await symlink(join(ROOT, "node_modules", scope), join(modules, scope));
  }
}, PATIENCE_MS);

afterAll(() => rm(project, { recursive: true, force: true }));

it("tests a Worker of its user's with the broker beside it", { timeout: PATIENCE_MS }, async () => {
  await cp(join(ROOT, "examples/testing"), project, {
    recursive: true,
    filter: (path) => !path.includes("node_modules"),
  });
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const out = join(project, "report.json");
  await execute(node, [vitest, "run", "--reporter=json", `--outputFile=${out}`], { cwd: project });
  const report = JSON.parse(await readFile(out, "utf8")) as { numPassedTests: number; success: boolean };
  expect(report).toMatchObject({ numPassedTests: 3, success: true });
});

it("is the whole broker in a Worker that exports it", { timeout: PATIENCE_MS }, async () => {
  const dir = join(project, "own");
  await mkdir(dir);
  await writeFile(
    join(dir, "index.ts"),
    'export * from "waggle-mq/worker";\nexport { default } from "waggle-mq/worker";\n',
  );
  await writeFile(
    join(dir, "wrangler.toml"),
    `name = "own"
main = "index.ts"
compatibility_date = "2026-10-28"
durable_objects.bindings = [
  { name = "OWNER", class_name = "Owner" },
  { name = "DECLARATIONS", class_name = "Declarations" },
  { name = "DURABLE_QUEUE", class_name = "DurableQueue" },
]
migrations = [{ tag = "v1", new_sqlite_classes = ["Owner", "Declarations", "DurableQueue"] }]
`,
  );
  const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
  const { stdout } = await execute(node, [wrangler, "deploy", "--dry-run", "--outdir", "out"], { cwd: dir });
  expect(stdout).toContain("env.DURABLE_QUEUE");
});
