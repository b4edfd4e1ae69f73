import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Client } from "./support.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const SEED_PUSH = '{"queue":"presence","partition":"room-7","messages":[{"payload":{"user":"ada","typing":true}}]}';
const SEED_POP = "queue=presence&partition=room-7&group=ui-1&wait=true&timeout=5000";

let dir: string;
let started: ChildProcess | null = null;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "waggle-dev-"));
});

afterEach(async () => {
  const child = started;
  started = null;
  if (child?.pid !== undefined && child.exitCode === null) {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    // npm, wrangler and workerd are one process group.
    process.kill(-child.pid, "SIGTERM");
    await ended;
  }
  await rm(dir, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** `npm start -- <args>` in a folder of the project; resolves once it says that it is ready. */
async function npmStart(folder: string, args: string[]): Promise<void> {
  const child = spawn("npm", ["start", "--", ...args], { cwd: join(ROOT, folder), detached: true, stdio: "pipe" });
  started = child;
  let said = "";
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (said.includes("Ready on")) resolve();
      });
    }
    child.once("exit", () => reject(new Error(said)));
  });
}

it("npm start hands its options on to wrangler dev", async () => {
  const port = await freePort();
  await npmStart(".", ["--port", String(port), "--persist-to", dir, "--var", "OWNERS:3"]);
  const client = new Client(`http://127.0.0.1:${port}`);
  expect(await client.get("/health")).toMatchObject({ status: "ok", owners: 3 });
  await client.post("push", JSON.parse(SEED_PUSH));
  expect(await client.pop(SEED_POP)).toMatchObject([
    { partition: "room-7", attempts: 1, payload: { user: "ada", typing: true } },
  ]);
});

it("the example of request and reply answers over service bindings", async () => {
  const port = await freePort();
  await npmStart("examples/request-reply", ["--port", String(port), "--persist-to", dir]);
  const url = `http://127.0.0.1:${port}/?n=`;
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  const squares = await Promise.all(numbers.map(async (n) => (await fetch(url + n)).json()));
  expect(squares).toEqual(numbers.map((n) => ({ n, squared: n * n })));
});
