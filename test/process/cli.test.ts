import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { freePort } from "../../bench/free-port.ts";
import { buildOf, startWorkerd, type Workerd } from "../../bench/workerd.ts";
import { operations } from "../../src/operations/index.ts";
import { KEYS } from "../auth/keys.ts";
import { onTerminal, waggle, type How, type Ran } from "./cli-support.ts";

const keys = JSON.stringify(KEYS);

let open: Workerd;
let closed: Workerd;
let folder: string;

beforeAll(async () => {
  const build = inject("build");
  const worker = buildOf(join(import.meta.dirname, "consumer.js"), build);
  const services = { ORDERS_WORKER: { service: "orders-worker" } };
  open = await startWorkerd({ build, services, workers: { "orders-worker": worker } });
  closed = await startWorkerd({ build, vars: { AUTH: "required", WAGGLE_KEYS: keys } });
  folder = await mkdtemp(join(tmpdir(), "waggle-cli-"));
  await writeFile(join(folder, "keys.json"), keys);
  await writeFile(
    join(folder, "wrangler.toml"),
    `name = "orders-worker"
main = "index.ts"
[[queues.producers]]
binding = "APPLIED"
queue = "applied"
remote = true
[[queues.consumers]]
queue = "applied"
max_batch_size = 7
dead_letter_queue = "applied-dead"
`,
  );
  await writeFile(
    join(folder, "wrangler.jsonc"),
    `{ "name": "orders-worker", // a comment
       "env": { "staging": { "queues": { "consumers": [{ "queue": "staged", "type": "http_pull" }] } } }, }`,
  );
});

afterAll(async () => {
  await open?.stop();
  await closed?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a verb at the open broker. */
function cli(line: string, how: How = {}, ...more: string[]): Promise<Ran> {
  return waggle([...line.split(" "), ...more, "--url", open.url], how);
}

/** Its result, which must be one line of JSON. */
async function result<T>(line: string, how: How = {}, ...more: string[]): Promise<T> {
  const { code, stdout, stderr } = await cli(`${line} --json`, how, ...more);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  return JSON.parse(stdout) as T;
}

/** What it prints for people; nothing on stderr. */
async function text(line: string, how: How = {}, ...more: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(line, how, ...more);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

/** Runs a verb at the broker that asks for tokens. */
function at(line: string, token?: string): Promise<Ran> {
  return waggle([...line.split(" "), "--url", closed.url, ...(token === undefined ? [] : ["--token", token])]);
}

/** The verbs that were tried, by each test as it goes. */
const tried = new Set<string>();
function of(...names: string[]): string {
  for (const name of names) tried.add(name);
  return names.join(", ");
}

it(of("queue create", "queue ls", "queue info", "queue set", "queue rm"), async () => {
  expect(await text("queue create books --delay-seconds 5")).toBe("books is declared.\n");
  expect(await text("queue ls")).toMatch(
    /^QUEUE +MESSAGES +BYTES +OLDEST +CONSUMERS +DELIVERY\n.*books +0 +0 B +- +- +on/s,
  );
  expect(await result("queue info books")).toMatchObject({ queue_name: "books", settings: { delivery_delay: 5 } });
  expect(await text("queue info books")).toContain("delay 5 s, retention 4 d, delivery on");
  expect(await text("queue set books --retention-seconds 120 --name tomes")).toBe(
    "tomes: delay 5 s, retention 2 min, delivery on\n",
  );
  expect(await result("queue ls")).toMatchObject([{ queue_name: "tomes", metrics: { backlog_count: 0 } }]);
  expect(await text("queue rm tomes --yes")).toBe("tomes is deleted.\n");
  expect(await text("queue ls")).toBe("There is no durable queue. Declare one: waggle queue create NAME\n");
});

it(of("queue send", "queue peek", "queue purge", "queue pause", "queue resume"), async () => {
  await text("queue create letters");
  expect(await text("queue send letters", {}, '{"a":1}', "2")).toBe("2 messages sent.\n");
  expect(await text("queue send letters --type text", {}, "not JSON\u001b[31m")).toBe("1 message sent.\n");
  expect(await result("queue send letters", { stdin: '{"b":1}\n\n"c"\r\n' })).toEqual({ sent: 2 });
  const peeked = await text("queue peek letters");
  expect(peeked).toMatch(/ID +AGE +STATE +ATTEMPTS +BODY/);
  expect(peeked).toContain('{"a":1}');
  // What stands in a message does not reach the terminal as a command.
  expect(peeked).toContain(String.raw`not JSON\u001b[31m`);
  expect((await result<{ messages: unknown[] }>("queue peek letters --limit 3")).messages).toHaveLength(3);
  expect(await text("queue pause letters")).toBe("Delivery of letters is paused; sends go on.\n");
  expect(await text("queue ls")).toContain("paused");
  expect(await text("queue resume letters")).toBe("letters is delivered again.\n");
  expect(await text("queue purge letters --yes")).toBe("letters is empty.\n");
  expect(await text("queue peek letters")).toBe("Nothing is there.\n");
});

it(of("queue tail"), async () => {
  await text("queue create watched");
  const tail = cli("queue tail watched --json", { heard: (said, end) => said.trim().includes("\n") && end() });
  // It shows what comes after it has begun, which nobody tells from outside.
  const sending = setInterval(() => void cli("queue send watched", {}, '"first"', '"second"'), 1000);
  const { code, stdout } = await tail;
  clearInterval(sending);
  expect(code).toBe(0);
  const bodies = stdout
    .trim()
    .split("\n")
    .map((line) => Buffer.from((JSON.parse(line) as { body: string }).body, "base64").toString());
  expect(bodies.slice(0, 2)).toEqual(['"first"', '"second"']);
});

it(of("queue consumers", "queue consume", "queue unconsume"), async () => {
  await text("queue create consumed");
  expect(await text("queue consumers consumed")).toBe("It has no consumer.\n");
  const pull = await result<{ consumer_id: string }>("queue consume consumed --pull --name mine --batch-size 3");
  expect(pull).toMatchObject({ type: "http_pull", name: "mine", settings: { batch_size: 3 } });
  await text("queue consume consumed --endpoint http://127.0.0.1:9/x --secret s --max-wait-ms 100");
  await text("queue consume consumed --worker orders-worker --dead-letter-queue consumed-dead");
  const table = await text("queue consumers consumed");
  for (const word of ["mine", "127.0.0.1:9", "orders-worker", "consumed-dead"]) expect(table).toContain(word);
  expect(await text(`queue unconsume consumed ${pull.consumer_id} --yes`)).toBe("mine is no consumer any more.\n");
  expect(await result("queue consumers consumed")).toHaveLength(2);
  expect((await cli("queue consume consumed")).stderr).toContain("exactly one of worker, endpoint and pull");
  expect(await cli("queue consume consumed --pull --max-wait-ms 5")).toMatchObject({ code: 2 });
});

it(
  of(
    "ephemeral ls",
    "ephemeral push",
    "ephemeral pop",
    "ephemeral peek",
    "ephemeral depth",
    "ephemeral groups",
    "ephemeral drop-group",
  ),
  async () => {
    expect(await text("ephemeral push rooms", {}, '{"who":"ada"}')).toBe("1 message pushed.\n");
    expect(await result("ephemeral push rooms --partition b", { stdin: "1\n2\n" })).toEqual({ pushed: 2 });
    expect(await text("ephemeral ls")).toMatch(/rooms +3/);
    expect(await text("ephemeral peek rooms --partition b --limit 1")).toBe("b  1\n");
    expect(await result("ephemeral depth rooms")).toMatchObject({ queue: "rooms", pending: 3 });
    expect(await text("ephemeral pop rooms --group g --partition b --limit 1")).toBe("b  1\n");
    expect(await text("ephemeral pop rooms --group g --partition b --lease")).toBe("b  2\n");
    expect(await text("ephemeral groups rooms")).toMatch(/GROUP +PENDING +SKIPPED\ng /);
    expect(await text("ephemeral drop-group rooms g --yes")).toBe("g is deleted.\n");
    expect(await result("ephemeral groups rooms")).toEqual([]);
    expect(await text("ephemeral pop nothing --wait-seconds 1")).toBe("Nothing came.\n");
  },
);

it(of("ephemeral configure", "ephemeral reset", "ephemeral rm"), async () => {
  const configured = await result("ephemeral configure tuned --ttl-seconds 9 --policy dropOldest --window-ms 5");
  expect(configured).toMatchObject({
    options: { ttlSeconds: 9, policy: "dropOldest", windowBuffer: { ms: 5, count: 0 } },
  });
  await text("ephemeral push tuned", {}, "1", "2");
  expect(await text("ephemeral reset tuned --yes")).toBe("tuned is empty; 2 messages dropped.\n");
  expect(await text("ephemeral rm tuned --yes")).toBe("tuned is deleted.\n");
  expect(await cli("ephemeral configure tuned --policy maybe")).toMatchObject({ code: 2 });
});

it(of("ephemeral tail"), async () => {
  await text("ephemeral push heard", {}, "1");
  const { code, stdout } = await cli("ephemeral tail heard", {
    heard: (said, end) => {
      if (said.endsWith("Default  1\n")) void cli("ephemeral push heard", {}, "2");
      if (said.includes("Default  2\n")) end();
    },
  });
  expect([code, stdout]).toEqual([0, "Default  1\nDefault  2\n"]);
  // Its group went with it.
  expect(await result("ephemeral groups heard")).toEqual([]);
});

it(of("apply"), async () => {
  const applied = await text("apply", {}, join(folder, "wrangler.toml"));
  expect(applied).toContain("applied (new): delay 0 s, retention 4 d, delivery on\n");
  expect(applied).toContain("batch_size=7");
  expect(applied).toContain("not honoured: queues.producers[0].remote");
  expect(applied).toContain("dead letters to applied-dead");
  const staged = await result("apply --env staging", {}, join(folder, "wrangler.jsonc"));
  expect(staged).toMatchObject({ name: "orders-worker-staging", queues: [{ queue_name: "staged" }] });
  expect((await cli("apply", {}, join(folder, "nothing.toml"))).stderr).toContain("cannot be read: ENOENT");
  expect((await cli("apply --env live", {}, join(folder, "wrangler.jsonc"))).stderr).toContain('no environment "live"');
  expect(await cli("apply", {}, join(folder, "keys.json"))).toMatchObject({ code: 2 });
});

it(of("doctor"), async () => {
  await text("queue create lonely");
  await text("queue send lonely", {}, "1");
  await text("queue pause lonely");
  const { code, stdout } = await cli("doctor lonely");
  // Whatever it finds, it could look.
  expect(code).toBe(0);
  expect(stdout).toContain("delivery is paused, with 1 messages ready");
  expect(stdout).toContain("waggle queue resume lonely");
  expect(stdout).toContain("it has no consumer, and 1 messages wait for one");
  await text("queue create unreachable");
  await text("queue consume unreachable --endpoint http://127.0.0.1:9/x --secret s");
  await text("queue send unreachable", {}, "1");
  await expect
    .poll(async () => JSON.stringify(await result("doctor unreachable")), { timeout: 20_000 })
    .toContain("cannot be reached, tried again at");
  const all = await result<{ findings: { queue: string | null }[] }>("doctor");
  expect(all.findings.map(({ queue }) => queue)).toEqual(expect.arrayContaining([null, "lonely", "unreachable"]));
});

it(of("token mint"), async () => {
  const admin = await text("token mint --keys", {}, join(folder, "keys.json"), '{"admin":true}');
  const env = { WAGGLE_TOKEN: admin.trim() };
  const claims = '{"queues":[{"queue":"orders","verbs":["send"]}]}';
  const minted = await waggle(["token", "mint", claims, "--expires-in-seconds", "60", "--url", closed.url, "--json"], {
    env,
  });
  expect(JSON.parse(minted.stdout)).toMatchObject({ token: expect.stringMatching(/^ey/), expiresInSeconds: 60 });
  expect((await cli("token mint", {}, '{"admin":"yes"}', "--keys", join(folder, "keys.json"))).code).toBe(2);
  expect((await cli("token mint", {}, "admin")).stderr).toContain("claims must be JSON");
});

it("a token that is missing, bad, or lacks a right is named for what it is", async () => {
  expect(await at("queue ls")).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("--token") });
  expect(await at("queue ls", "rubbish")).toMatchObject({ code: 1, stderr: expect.stringContaining("WAGGLE_TOKEN") });
  const minted = await text(
    "token mint --keys",
    {},
    join(folder, "keys.json"),
    '{"queues":[{"queue":"a","verbs":["send"]}]}',
  );
  expect(await at("queue purge a --yes", minted.trim())).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("admin token"),
  });
});

it("exit codes tell what kind of failure it was", async () => {
  expect(await cli("queue info nothing")).toMatchObject({ code: 3, stdout: "" });
  expect(await cli("ephemeral depth no-such-queue")).toMatchObject({ code: 3 });
  await text("queue create taken");
  expect(await cli("queue create taken")).toMatchObject({ code: 4 });
  expect(await cli("queue create Not_A_Name")).toMatchObject({ code: 2 });
  for (const line of [
    "",
    "queue",
    "queue bogus",
    "--bogus",
    "queue ls --bogus",
    "queue ls more",
    "queue info",
    "queue peek x --limit many",
  ]) {
    expect([line, (await waggle(line === "" ? [] : line.split(" "))).code]).toEqual([line, 2]);
  }
  const gone = await waggle(["queue", "ls", "--url", `http://127.0.0.1:${await freePort()}`, "--json"]);
  expect(gone).toMatchObject({ code: 5, stdout: "" });
  expect(JSON.parse(gone.stderr)).toMatchObject({
    code: "network_error",
    error: expect.stringContaining("ECONNREFUSED"),
  });
  expect(await waggle(["--help"])).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("Exit codes"),
  });
});

it("options that every verb takes stand before or after it, or in the environment", async () => {
  await text("queue create anywhere");
  const before = await waggle(["--url", open.url, "--json", "queue", "consumers", "anywhere"]);
  const between = await waggle(["queue", "--json", "--url", open.url, "consumers", "anywhere"]);
  const inEnvironment = await waggle(["queue", "consumers", "anywhere", "--json"], { env: { WAGGLE_URL: open.url } });
  for (const ran of [before, between, inEnvironment]) expect(ran).toEqual({ code: 0, stdout: "[]\n", stderr: "" });
});

it("what cannot be taken back asks for the name, and does nothing without it", async () => {
  await text("queue create precious");
  await text("queue send precious", {}, "1");
  for (const line of [
    "queue purge precious",
    "queue rm precious",
    "ephemeral reset precious",
    "ephemeral rm precious",
  ]) {
    expect(await cli(line)).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
  }
  const wrong = await onTerminal(["queue", "purge", "precious", "--url", open.url], "preciuos");
  expect(wrong).toMatchObject({ code: 2, screen: expect.stringContaining("nothing was done") });
  expect((await result<{ messages: unknown[] }>("queue peek precious")).messages).toHaveLength(1);
  const right = await onTerminal(["queue", "purge", "precious", "--url", open.url], "precious");
  expect(right).toMatchObject({ code: 0, screen: expect.stringContaining("precious is empty.") });
});

it("colours are for a terminal, and NO_COLOR keeps them off", async () => {
  const escape = "\u001b[";
  expect(await text("doctor")).not.toContain(escape);
  expect((await onTerminal(["doctor", "--url", open.url], "")).screen).toContain(escape);
  process.env["NO_COLOR"] = "1";
  try {
    expect((await onTerminal(["doctor", "--url", open.url], "")).screen).not.toContain(escape);
  } finally {
    delete process.env["NO_COLOR"];
  }
});

it("a reader that has seen enough ends it without a complaint", async () => {
  const main = join(import.meta.dirname, "../../src/cli/main.ts");
  const command = `'${process.execPath}' '${main}' ephemeral tail many --url ${open.url} | head -n 1; echo "\${PIPESTATUS[0]}"`;
  const child = spawn("bash", ["-c", command]);
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
  const ended = new Promise((resolve) => child.once("close", () => resolve("ended")));
  // Only a write tells a process that nobody reads its pipe: there has to be something to write after the reader has gone.
  while ((await Promise.race([ended, setTimeout(200, "goes on")])) === "goes on") {
    await text("ephemeral push many", { stdin: "1\n" });
  }
  expect(said).toBe("Default  1\n0\n");
});

it("every verb was tried", () => {
  // These have files of their own.
  const elsewhere = ["queue dlq replay", "eject", "import"];
  expect([...tried, ...elsewhere].toSorted()).toEqual(operations.map(({ name }) => name).toSorted());
});
