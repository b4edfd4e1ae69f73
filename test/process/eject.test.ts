import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, open as openFile, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { linesOf } from "../../src/cli/lines.ts";
import { encodeBase64 } from "../../src/durable/base64.ts";
import { packMessages } from "../../src/durable/content.ts";
import { waggle } from "./cli-support.ts";

/** A backlog that would not fit the memory that the command may take; `WAGGLE_EJECT` says how many messages otherwise. */
const COUNT = Number(process.env["WAGGLE_EJECT"] ?? 40_000);
const MAX_MEMORY_MB = 150;
const ROOT = join(import.meta.dirname, "../..");
/** As it is published: to compile while it runs takes memory of its own. */
const COMPILED = join(ROOT, "dist/test-cli");
const MAIN = join(COMPILED, "cli/main.js");

let from: Workerd;
let to: Workerd;
let folder: string;

beforeAll(async () => {
  const build = inject("build");
  await promisify(execFile)(join(ROOT, "node_modules/.bin/tsc"), ["-p", "src/cli", "--outDir", COMPILED], {
    cwd: ROOT,
  });
  [from, to] = await Promise.all([startWorkerd({ build }), startWorkerd({ build })]);
  folder = await mkdtemp(join(tmpdir(), "waggle-eject-"));
});

afterAll(async () => {
  await from?.stop();
  await to?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function post<T>(broker: Workerd, path: string, body: unknown): Promise<T> {
  const response = await fetch(`${broker.url}/api/v1/queues/${path}`, { method: "POST", body: JSON.stringify(body) });
  const answer = (await response.json()) as { success: boolean; errors: { message: string }[]; result: T };
  if (!answer.success) throw new Error(answer.errors[0]?.message);
  return answer.result;
}

async function backlog(broker: Workerd): Promise<number> {
  const response = await fetch(`${broker.url}/api/v1/queues/orders/metrics`);
  if (!response.ok) return 0;
  return ((await response.json()) as { result: { backlog_count: number } }).result.backlog_count;
}

function v8(value: unknown): string {
  return encodeBase64(packMessages([{ body: value, contentType: "v8" }]).bodies);
}

const cycle: Record<string, unknown> = { name: "a cycle" };
cycle["self"] = cycle;

/** One of each kind that there is, over and over. */
const KINDS: ((n: number) => Record<string, unknown>)[] = [
  (n) => ({ body: { n, text: "ü\n\u2028", nested: [{ deep: [null, true] }] } }),
  (n) => ({ body: `line ${n}\r\nand "more"`, content_type: "text" }),
  (n) => ({ body: Buffer.from([n & 255, 0, 255]).toString("base64"), content_type: "bytes" }),
  (n) => ({
    body: v8({ n, at: new Date(n), tags: new Set([n]), big: 2n ** 70n, by: new Map([["k", undefined]]) }),
    content_type: "v8",
  }),
  (n) => ({ body: v8({ plain: n }), content_type: "v8" }),
  () => ({ body: v8(cycle), content_type: "v8" }),
  () => ({ body: v8(new RangeError("kept")), content_type: "v8" }),
  (n) => ({ body: v8({ bytes: new Uint8Array([n & 255]), zero: -0, none: Number.NaN }), content_type: "v8" }),
  (n) => ({ body: n, delay_seconds: 3600 }),
];

async function send(first: number, count: number, partition = "Default"): Promise<void> {
  const messages = Array.from({ length: count }, (_, i) => KINDS[(first + i) % KINDS.length]?.(first + i));
  await post(from, "orders/messages/batch", { messages, partition });
}

/** Resolves once a file has something in it. */
async function begins(file: string): Promise<void> {
  await expect
    .poll(
      () =>
        stat(file).then(
          ({ size }) => size,
          () => 0,
        ),
      { timeout: 20_000, interval: 5 },
    )
    .toBeGreaterThan(0);
}

/** Runs the command with its output in a file. Answers the most memory that it took, in MB. */
async function ejectTo(broker: Workerd, file: string, ...more: string[]): Promise<number> {
  const output = await openFile(file, "w");
  const child = spawn(process.execPath, [MAIN, "eject", "orders", "--url", broker.url, ...more], {
    stdio: ["ignore", output.fd, "inherit"],
  });
  let peakKb = 0;
  const watch = setInterval(() => {
    void readFile(`/proc/${child.pid}/status`, "utf8").then(
      (status) => (peakKb = Math.max(peakKb, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0))),
      () => {},
    );
  }, 50);
  const code = await new Promise((resolve) => child.once("close", resolve));
  clearInterval(watch);
  await output.close();
  expect(code).toBe(0);
  return peakKb / 1024;
}

interface Read {
  head: Record<string, unknown>;
  end: Record<string, unknown>;
  /** A hash of each message's line, whatever its place: what waits for later comes last when it has been put back. */
  messages: Set<string>;
  kinds: Map<string, number>;
}

async function read(file: string): Promise<Read> {
  const found: Read = { head: {}, end: {}, messages: new Set(), kinds: new Map() };
  for await (const text of linesOf(createReadStream(file))) {
    const line = JSON.parse(text) as Record<string, unknown>;
    if (line["format"] !== undefined) found.head = line;
    else if (line["end"] === true) found.end = line;
    else {
      found.messages.add(
        createHash("sha256")
          .update(text.replace(/"number":\d+,/, ""))
          .digest("base64"),
      );
      const kind = `${String(line["content_type"])} ${Object.keys(line).find((key) => key.startsWith("body"))}`;
      found.kinds.set(kind, (found.kinds.get(kind) ?? 0) + 1);
    }
  }
  return found;
}

it(
  `ejects ${COUNT} messages while others are sent, and puts them back once, over a kill`,
  { timeout: 300_000 },
  async () => {
    await waggle(["queue", "create", "orders", "--retention-seconds", "86400", "--url", from.url]);
    await waggle(["queue", "consume", "orders", "--pull", "--url", from.url]);
    const workers = Array.from({ length: 4 }, async (_, worker) => {
      for (let n = worker * 100; n < COUNT; n += 400) await send(n, 100, n % 1000 === 0 ? "second" : "Default");
    });
    await Promise.all(workers);
    // Some of them have been delivered once, and wait to be delivered again.
    const { messages } = await post<{ messages: { lease_id: string }[] }>(from, "orders/messages/pull", {
      batch_size: 100,
    });
    await post(from, "orders/messages/ack", {
      retries: messages.map(({ lease_id }) => ({ lease_id, delay_seconds: 3600 })),
    });

    let late = 0;
    const ejected = new AbortController();
    const first = join(folder, "first.jsonl");
    // From the moment on, whose settings are the first to be written.
    const sending = (async () => {
      await begins(first);
      while (!ejected.signal.aborted) await send(late++, 10);
    })();
    const peakMb = await ejectTo(from, first);
    ejected.abort();
    await sending;
    console.log(`eject of ${COUNT}: ${Math.round(peakMb)} MB at the most, ${late * 10} sent meanwhile`);
    expect(late).toBeGreaterThan(1);
    expect(peakMb).toBeLessThan(MAX_MEMORY_MB);
    const held = await read(first);
    expect(held.head).toMatchObject({
      format: "waggle-queue/1",
      kind: "durable",
      settings: { message_retention_period: 86_400 },
    });
    expect(held.end).toEqual({ end: true, messages: COUNT, restarted: [] });
    expect(held.messages.size).toBe(COUNT);
    expect([...held.kinds.keys()].toSorted()).toEqual([
      "bytes body_base64",
      "json body",
      "text body",
      "v8 body",
      "v8 body_devalue",
      "v8 body_stored",
    ]);

    const importing = ["import", "--file", first, "--url", to.url, "--json"];
    const broken = spawn(process.execPath, [MAIN, ...importing], { stdio: "ignore" });
    const ended = new Promise((resolve) => broken.once("close", (_, signal) => resolve(signal)));
    await expect.poll(() => backlog(to), { timeout: 60_000, interval: 20 }).toBeGreaterThan(COUNT / 4);
    broken.kill("SIGKILL");
    expect(await ended).toBe("SIGKILL");
    expect(await backlog(to)).toBeLessThan(COUNT);
    const repeated = await waggle(importing);
    expect(repeated.code, repeated.stderr).toBe(0);
    const { imported, repeated: known } = JSON.parse(repeated.stdout) as { imported: number; repeated: number };
    expect(imported + known).toBe(COUNT);
    expect(known).toBeGreaterThan(COUNT / 4);
    expect(await backlog(to)).toBe(COUNT);

    const second = join(folder, "second.jsonl");
    await ejectTo(to, second);
    const again = await read(second);
    expect(again.messages.size).toBe(COUNT);
    expect(again.head["settings"]).toEqual(held.head["settings"]);
    expect([...again.messages].filter((message) => !held.messages.has(message))).toEqual([]);

    // Nothing was removed; with --drain it is, but for what came later.
    expect(await backlog(from)).toBe(COUNT + late * 10);
    await ejectTo(from, join(folder, "drained.jsonl"), "--drain");
    expect(await backlog(from)).toBe(0);
  },
);

it("an import says what is wrong with its file", async () => {
  const at = ["--url", to.url];
  const run = (stdin: string) => waggle(["import", "elsewhere", ...at], { stdin });
  expect(await run("")).toMatchObject({ code: 2, stderr: expect.stringContaining("empty") });
  expect(await run('{"a":1}\n')).toMatchObject({ code: 2, stderr: expect.stringContaining("no ejected queue") });
  const head =
    '{"format":"waggle-queue/1","kind":"durable","queue":"q","eject_id":"e","settings":{},"partitions":[]}\n';
  const line =
    '{"number":1,"partition":"Default","id":"a","content_type":"text","enqueued_on":"2026-01-01T00:00:00.000Z","due_on":null,"attempts":0,"origin":null,"body":"x"}\n';
  expect(await run(`${head}${line}{"number":2,`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("not JSON"),
  });
  expect(await run(head + line)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("cut off"),
    stdout: expect.stringContaining("1 messages stored"),
  });
  expect(await run(`${head}${line}{"end":true}\n`)).toMatchObject({
    code: 0,
    stdout: "0 messages stored in elsewhere, 1 were there already.\n",
  });
  const bytes = line.replace('"text"', '"bytes"').replace('"number":1', '"number":2');
  expect(await run(head + bytes)).toMatchObject({ code: 2, stderr: expect.stringContaining("content type bytes") });
});
