import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { consumerDraft } from "../src/contract/queue-consumers.ts";
import type { Call } from "./api.ts";
import type { BoxConfig } from "./config.ts";

/** Which declarations came from the file, so that what it no longer names can be taken back. */
interface Declared {
  workers: string[];
  consumers: { queue: string; name: string }[];
}

interface Consumer {
  consumer_id: string;
  name: string;
}

/**
 * Declares over the broker's API what the file names, and takes back those consumers that an earlier version of the file
 * declared. Queues stay, since they may hold messages. A second time changes nothing.
 */
export async function declare(call: Call, box: BoxConfig): Promise<void> {
  const file = join(box.data, "declared.json");
  const before = await recorded(file);
  const now = declarationsOf(box);
  // Written before anything is declared: what an end half-way leaves behind is known the next time.
  await record(file, union(before, now));
  for (const { queue_name, settings } of box.queues) await declareQueue(call, queue_name, settings ?? {});
  for (const { name, queues } of box.workers) await call("POST", "/manifests", { name, queues });
  for (const consumer of box.consumers) await declareConsumer(call, consumer);
  for (const { queue } of box.bridges) await ensureQueue(call, queue);
  for (const name of before.workers.filter((worker) => !now.workers.includes(worker))) {
    await call("POST", "/manifests", { name, queues: {} });
  }
  for (const gone of before.consumers.filter((each) => !now.consumers.some((other) => isSame(each, other)))) {
    await removeConsumer(call, gone);
  }
  await record(file, now);
}

function declarationsOf({ workers, consumers }: BoxConfig): Declared {
  return {
    workers: workers.map(({ name }) => name),
    consumers: consumers.map(({ queue, ...body }) => ({ queue, name: nameOf(body) })),
  };
}

/** What the broker calls a consumer, named or not. */
function nameOf(body: unknown): string {
  return consumerDraft(body, (script) => script).name;
}

function isSame(a: Declared["consumers"][number], b: Declared["consumers"][number]): boolean {
  return a.queue === b.queue && a.name === b.name;
}

function union(a: Declared, b: Declared): Declared {
  return { workers: [...new Set([...a.workers, ...b.workers])], consumers: [...a.consumers, ...b.consumers] };
}

async function declareQueue(call: Call, name: string, settings: object): Promise<void> {
  await ensureQueue(call, name);
  await call("PUT", `/queues/${name}`, { settings });
}

async function ensureQueue(call: Call, name: string): Promise<void> {
  const found = await call<unknown[]>("GET", `/queues?name=${name}`);
  if (found.length === 0) await call("POST", "/queues", { queue_name: name });
}

async function declareConsumer(call: Call, { queue, ...body }: BoxConfig["consumers"][number]): Promise<void> {
  await ensureQueue(call, queue);
  const held = await consumerNamed(call, queue, nameOf(body));
  const path = `/queues/${queue}/consumers`;
  await (held === undefined ? call("POST", path, body) : call("PUT", `${path}/${held.consumer_id}`, body));
}

async function removeConsumer(call: Call, { queue, name }: Declared["consumers"][number]): Promise<void> {
  const found = await call<unknown[]>("GET", `/queues?name=${queue}`);
  const held = found.length === 0 ? undefined : await consumerNamed(call, queue, name);
  if (held !== undefined) await call("DELETE", `/queues/${queue}/consumers/${held.consumer_id}`);
}

async function consumerNamed(call: Call, queue: string, name: string): Promise<Consumer | undefined> {
  const consumers = await call<Consumer[]>("GET", `/queues/${queue}/consumers`);
  return consumers.find((consumer) => consumer.name === name);
}

async function recorded(file: string): Promise<Declared> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Declared;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { workers: [], consumers: [] };
    throw new Error(`${file} cannot be read`, { cause: error });
  }
}

/** Whole or not at all. */
async function record(file: string, declared: Declared): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(declared));
  await rename(`${file}.new`, file);
}
