import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { publint } from "publint";
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

/** A page or a program that uses the client. */
const PROGRAM = `import { Waggle, WaggleError, type Message } from "waggle-mq";

interface Squared {
  squared: number;
}

const calls: string[] = [];
const waggle = new Waggle("https://waggle.test", {
  token: async () => "secret",
  fetch: async (input, init) => {
    calls.push([init?.method, String(input), new Headers(init?.headers).get("authorization")].join(" "));
    return new Response('{"error":"no","code":"forbidden"}', { status: 403 });
  },
});

const asked: Promise<Squared> = waggle.request<Squared>("squares", { n: 7 }, { timeout: 5000 });
const consumed: Promise<void> = waggle.consume<number>("q", { group: "g" }, (message: Message<number>) => message.payload);
for (const failing of [asked, consumed, waggle.queues("orders").send("x")]) {
  await failing.then(
    () => calls.push("fine"),
    (error: unknown) => calls.push(error instanceof WaggleError ? error.code : String(error)),
  );
}
waggle.close();
console.log(JSON.stringify(calls));
`;

function programConfig(module: string, moduleResolution: string) {
  return {
    compilerOptions: {
      target: "es2022",
      lib: ["es2022", "dom", "dom.iterable"],
      module,
      moduleResolution,
      types: [],
      strict: true,
      exactOptionalPropertyTypes: true,
      outDir: "built",
    },
    include: ["program.ts"],
  };
}

/** The project of somebody who has installed the package. */
let project: string;
const tsc = join(ROOT, "node_modules/.bin/tsc");

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "waggle-package-"));
  const { stdout } = await execute("npm", ["pack", "--silent", "--pack-destination", project], { cwd: ROOT });
  await writeFile(join(project, "package.json"), '{"name":"user","private":true,"type":"module"}');
  const quietly = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  await execute("npm", ["install", ...quietly, join(project, stdout.trim())], { cwd: project });
  await mkdir(join(project, "node_modules", "@cloudflare"));
  const types = "node_modules/@cloudflare/workers-types";
  await symlink(join(ROOT, types), join(project, types));
  await writeFile(join(project, "index.ts"), WORKER);
  await writeFile(join(project, "program.ts"), PROGRAM);
  await writeFile(join(project, "tsconfig.json"), JSON.stringify(TSCONFIG));
  await writeFile(
    join(project, "wrangler.toml"),
    'name = "user"\nmain = "index.ts"\ncompatibility_date = "2026-10-28"\n',
  );
}, PATIENCE_MS);

afterAll(() => rm(project, { recursive: true, force: true }));

it(
  "the consumer helper has types that a project of its own can be checked with",
  { timeout: PATIENCE_MS },
  async () => {
    await execute(tsc, ["-p", project]);
    await writeFile(join(project, "index.ts"), WORKER.replace("body.total +", "body.missing +"));
    await expect(execute(tsc, ["-p", project])).rejects.toMatchObject({
      stdout: expect.stringContaining("'missing' does not exist"),
    });
    await writeFile(join(project, "index.ts"), WORKER);
  },
);

it("the consumer helper is bundled into a Worker and is small", { timeout: PATIENCE_MS }, async () => {
  const args = ["deploy", "--dry-run", "--minify", "--outdir", "out"];
  const { stdout } = await execute(join(ROOT, "node_modules/.bin/wrangler"), args, { cwd: project });
  const [, size] = /Total Upload: ([\d.]+) KiB/.exec(stdout) ?? [];
  expect(Number(size)).toBeLessThan(4);
});

it("has nothing that publint finds fault with", { timeout: PATIENCE_MS }, async () => {
  const { messages } = await publint({ pkgDir: join(project, "node_modules", "waggle-mq"), pack: false, strict: true });
  expect(messages).toEqual([]);
});

it("holds what is served beside the routes, for those who deploy it from here", async () => {
  const shipped = join(project, "node_modules", "waggle-mq", "public");
  const files = await filesOf(shipped);
  expect(files).toEqual(await filesOf(join(ROOT, "public")));
  expect(files).toEqual(expect.arrayContaining(["llms.txt", "openapi.json", join("studio", "index.html")]));
  for (const file of files) {
    expect(await readFile(join(shipped, file), "utf8")).toBe(await readFile(join(ROOT, "public", file), "utf8"));
  }
});

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name))).toSorted();
}

it.each([
  ["node16", "node16"],
  ["esnext", "bundler"],
])("the client's types resolve with module %s, and it runs in Node", { timeout: PATIENCE_MS }, async (...modules) => {
  await writeFile(join(project, "tsconfig.json"), JSON.stringify(programConfig(...modules)));
  await execute(tsc, ["-p", project]);
  const { stdout } = await execute(process.execPath, ["built/program.js"], { cwd: project });
  const calls = JSON.parse(stdout) as string[];
  expect(calls.filter((call) => call === "forbidden")).toHaveLength(3);
  expect(calls).toContain("POST https://waggle.test/api/v1/queues/orders/messages Bearer secret");
});

it.each([
  [
    "the client",
    `import { Waggle } from "waggle-mq";
    const mint = (keys, claims) => new Waggle("https://waggle.test").token(keys, claims, 60);`,
  ],
  [
    "waggle-mq/token",
    `import { mintToken, parseKeys } from "waggle-mq/token";
    const mint = (keys, claims) => mintToken(parseKeys(keys), claims, 60);`,
  ],
])("%s mints tokens offline, with nothing but WebCrypto", { timeout: PATIENCE_MS }, async (_, minting) => {
  const program = `${minting}
console.log(await mint('{"k1":"${"A".repeat(43)}"}', { queues: [{ queue: "orders", verbs: ["send"] }] }));`;
  await writeFile(join(project, "mint.mjs"), program);
  const { stdout } = await execute(process.execPath, ["mint.mjs"], { cwd: project });
  const [, payload = ""] = stdout.split(".");
  expect(JSON.parse(Buffer.from(payload, "base64url").toString())).toMatchObject({
    queues: [{ queue: "orders", verbs: ["send"] }],
  });
});

it("the client is under 8 KB, minified and gzipped, and imports nothing", async () => {
  const { outputFiles, metafile } = await build({
    stdin: { contents: 'export * from "waggle-mq"', resolveDir: project },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    metafile: true,
    write: false,
  });
  const bytes = gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).byteLength;
  console.log(`client: ${bytes} bytes minified and gzipped`);
  expect(bytes).toBeLessThan(8 * 1024);
  const inputs = Object.keys(metafile.inputs).filter((path) => path !== "<stdin>");
  expect(inputs.filter((path) => !path.includes("waggle-mq/dist/client/"))).toEqual([]);
});
