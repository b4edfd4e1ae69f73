import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
const PATIENCE_MS = 120_000;
const execute = promisify(execFile);

const WORKER = `import { consumer } from "waggle-mq/consumer";
import { WorkerEntrypoint } from "cloudflare:workers";

interface Env {
  COLOUR: string;
}

export default consumer<Env, { total: number }>({
  async queue(batch, env, ctx) {
    for (const { body, ack } of batch.messages) ctx.waitUntil(Promise.resolve(body.total + env.COLOUR.length).then(ack));
  },
  fetch: (request, env) => new Response(env.COLOUR + request.url),
});

export const Named = consumer(
  class extends WorkerEntrypoint<Env> {
    override async queue(batch: MessageBatch) {
      console.log(batch.queue, this.env.COLOUR);
    }
  },
);
`;

const TSCONFIG = {
  compilerOptions: {
    target: "es2024",
    lib: ["es2024"],
    module: "esnext",
    moduleResolution: "bundler",
    types: ["@cloudflare/workers-types"],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  },
  include: ["index.ts"],
};

/** The project of somebody who has installed the package. */
let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "waggle-package-"));
  const installed = join(project, "node_modules", "waggle-mq");
  await mkdir(installed, { recursive: true });
  const { stdout } = await execute("npm", ["pack", "--silent", "--pack-destination", project], { cwd: ROOT });
  await execute("tar", ["-xzf", join(project, stdout.trim()), "-C", installed, "--strip-components=1"]);
  await mkdir(join(project, "node_modules", "@cloudflare"));
  const types = "node_modules/@cloudflare/workers-types";
  await symlink(join(ROOT, types), join(project, types));
  await writeFile(join(project, "index.ts"), WORKER);
  await writeFile(join(project, "tsconfig.json"), JSON.stringify(TSCONFIG));
  await writeFile(
    join(project, "wrangler.toml"),
    'name = "user"\nmain = "index.ts"\ncompatibility_date = "2026-10-28"\n',
  );
}, PATIENCE_MS);

afterAll(() => rm(project, { recursive: true, force: true }));

it("has types that a project of its own can be checked with", { timeout: PATIENCE_MS }, async () => {
  await execute(join(ROOT, "node_modules/.bin/tsc"), ["-p", project]);
  await writeFile(join(project, "index.ts"), WORKER.replace("body.total +", "body.missing +"));
  await expect(execute(join(ROOT, "node_modules/.bin/tsc"), ["-p", project])).rejects.toMatchObject({
    stdout: expect.stringContaining("'missing' does not exist"),
  });
  await writeFile(join(project, "index.ts"), WORKER);
});

it("is bundled into a Worker and is small", { timeout: PATIENCE_MS }, async () => {
  const args = ["deploy", "--dry-run", "--minify", "--outdir", "out"];
  const { stdout } = await execute(join(ROOT, "node_modules/.bin/wrangler"), args, { cwd: project });
  const [, size] = /Total Upload: ([\d.]+) KiB/.exec(stdout) ?? [];
  expect(Number(size)).toBeLessThan(4);
});
