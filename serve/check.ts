import { access, constants, mkdir, readFile, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { parseKeys } from "../src/auth/keys.ts";
import { consumerDraft } from "../src/contract/queue-consumers.ts";
import { QueueError } from "../src/contract/queue-errors.ts";
import { isQueueName } from "../src/contract/queue-names.ts";
import { brokerConfig, ROOT } from "./build.ts";
import { bundleWorker } from "./bundle.ts";
import { isLoopback, type BoxConfig, type WorkerConfig } from "./config.ts";
import { manifestOf } from "./workers.ts";

/** What is set elsewhere: by `keys` and `host`. */
const DERIVED: ReadonlySet<string> = new Set(["AUTH", "WAGGLE_KEYS"]);

/** All that would keep a box from running as its file says, a line each. */
export async function check(box: BoxConfig): Promise<string[]> {
  const found = await Promise.all([
    ofVars(box),
    ofKeys(box),
    ofAssets(box),
    ofData(box),
    ...box.workers.map((worker, index) => ofWorker(worker, `workers[${index}]`, box)),
    ...box.consumers.map(async ({ queue, ...body }, index) => ofConsumer(queue, body, `consumers[${index}]`)),
    ...box.bridges.map((each, index) => ofBridge(each, `bridges[${index}]`)),
    ofDuplicates(box),
  ]);
  return found.flat();
}

/** The ports that something else listens on. Apart from the rest, since a box that runs holds its own. */
export async function takenPorts(box: BoxConfig): Promise<string[]> {
  const taken = await Promise.all(
    portsOf(box).map(async ({ at, port }) => {
      const problem = await listenProblem(box.host, port);
      return problem === null ? [] : [`${at} ${port} on ${box.host} cannot be listened on: ${problem}`];
    }),
  );
  return taken.flat();
}

function portsOf({ port, workers }: BoxConfig): { at: string; port: number }[] {
  const own = workers.flatMap((worker, index) =>
    worker.port === undefined ? [] : [{ at: `workers[${index}].port`, port: worker.port }],
  );
  return [{ at: "port", port }, ...own];
}

async function listenProblem(host: string, port: number): Promise<string | null> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, host, resolve));
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EADDRINUSE" ? "it is in use" : (error as Error).message;
  } finally {
    server.close();
  }
}

async function ofVars({ vars }: BoxConfig): Promise<string[]> {
  const { vars: defaults } = await brokerConfig();
  const names = Object.keys(defaults).filter((name) => !DERIVED.has(name));
  const derived = Object.keys(vars).filter((name) => DERIVED.has(name));
  const unknown = Object.keys(vars).filter((name) => !DERIVED.has(name) && !names.includes(name));
  return [
    ...derived.map((name) => `vars.${name} is not for this file: AUTH and WAGGLE_KEYS follow from keys and host`),
    ...unknown.map((name) => `vars.${name} is unknown; there are ${names.join(", ")}`),
    ...(await lineOf("vars", async () => (await readVars())({ ...defaults, ...vars }))),
  ];
}

/** The broker's own reading of its vars. By a path that the compiler does not follow: there are the types of another runtime. */
async function readVars(): Promise<(vars: object) => unknown> {
  const path = join(ROOT, "src/config.ts");
  return ((await import(path)) as { readConfig(vars: object): unknown }).readConfig;
}

async function ofKeys(box: BoxConfig): Promise<string[]> {
  const { host, keys } = box;
  if (keys !== undefined) return lineOf(`keys ${keys}`, async () => parseKeys(await readFile(keys, "utf8")));
  if (isLoopback(box)) return [];
  return [
    `host is ${JSON.stringify(host)} and there are no keys: whoever reaches it could do everything. Name a file of keys, or listen on 127.0.0.1`,
  ];
}

async function ofAssets({ assets }: BoxConfig): Promise<string[]> {
  if (assets === undefined) return [];
  return lineOf("assets", async () => {
    if (!(await stat(assets)).isDirectory()) throw new Error(`${assets} is not a folder`);
  });
}

async function ofData({ data }: BoxConfig): Promise<string[]> {
  return lineOf("data", async () => {
    await mkdir(data, { recursive: true });
    await access(data, constants.W_OK | constants.X_OK);
  });
}

async function ofWorker({ name, main, queues, services }: WorkerConfig, at: string, box: BoxConfig): Promise<string[]> {
  const others = ["waggle", ...box.workers.map((worker) => worker.name)];
  const unreached = services.filter(({ service }) => !others.includes(service));
  return [
    ...(await lineOf(`${at}.main`, () => bundleWorker(main))),
    ...(await lineOf(at, async () => manifestOf({ name, queues }))),
    ...unreached.map(
      ({ binding, service }) =>
        `${at}.services: ${binding} reaches ${JSON.stringify(service)}, which is not here; there are ${others.join(", ")}`,
    ),
  ];
}

async function ofConsumer(queue: string, body: Record<string, unknown>, at: string): Promise<string[]> {
  const named = isQueueName(queue) ? [] : [`${at}.queue must be the name of a queue, not ${JSON.stringify(queue)}`];
  return [
    ...named,
    ...(await lineOf(at, async () => {
      if (body["type"] === "worker") throw new Error("a Worker consumes by the queues table of its entry in workers");
      const draft = consumerDraft(body, (script) => script);
      if (draft.type === "http" && draft.secret === null) throw new Error("secret is required");
    })),
  ];
}

async function ofBridge({ queue, token, url }: BoxConfig["bridges"][number], at: string): Promise<string[]> {
  return [
    ...(isQueueName(queue) ? [] : [`${at}.queue must be the name of a queue, not ${JSON.stringify(queue)}`]),
    ...(URL.canParse(url) ? [] : [`${at}.url must be a URL, not ${JSON.stringify(url)}`]),
    ...(await lineOf(`${at}.token`, async () => {
      if ((await readFile(token, "utf8")).trim() === "") throw new Error(`${token} is empty`);
    })),
  ];
}

async function ofDuplicates(box: BoxConfig): Promise<string[]> {
  return [
    ...repeated(box.workers.map(({ name }) => name)).map((name) => `workers: ${name} is there twice`),
    ...repeated(portsOf(box).map(({ port }) => String(port))).map((port) => `port ${port} is wanted twice`),
    ...repeated(box.queues.map(({ queue_name }) => queue_name)).map((name) => `queues: ${name} is there twice`),
  ];
}

function repeated(names: string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

/** Runs a check that throws, and answers its error as a line. */
async function lineOf(at: string, run: () => Promise<unknown>): Promise<string[]> {
  try {
    await run();
    return [];
  } catch (error) {
    const text = error instanceof QueueError ? error.cause : (error as Error).message;
    return [`${at}: ${text.replaceAll(/\s*\n\s*/g, " ")}`];
  }
}
