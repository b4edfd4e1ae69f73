import { setTimeout } from "node:timers/promises";
import { DEFAULT_PARTITION } from "../src/contract/limits.ts";
import { batchesByBody } from "../src/operations/batches.ts";
import { caller, type Call } from "./api.ts";

/** A queue of Cloudflare's, and the durable queue of this box that its messages go on to. */
export interface BridgeConfig {
  account: string;
  /** The name of the source. */
  source: string;
  /** The durable queue here. */
  queue: string;
  /** A token of Cloudflare's that may read and write queues. */
  token: string;
  /** The API of the source. */
  url: string;
}

interface Pulled {
  id: string;
  lease_id: string;
  timestamp_ms: number;
  body: string;
  metadata?: { "CF-Content-Type"?: string };
}

const BATCH_MESSAGES = 100;
const LEASE_MS = 60_000;
/** Between two looks at a source that has nothing, and after a failure. */
const IDLE_MS = 2000;
const FAILED_MS = 10_000;
/** Far below what one import may carry. */
const MAX_CHARS = 400_000;
/** How long what cannot be taken waits for another try, which uses up its retries at the source. */
const REFUSED_SECONDS = 600;

/**
 * Pulls messages from a source and stores them here until `signal` is aborted. A message is acked when it is on disk here; one
 * whose ack is lost comes again, as delivery at least once has it. `here` calls the broker.
 */
export async function runBridge(config: BridgeConfig, here: Call, signal: AbortSignal): Promise<void> {
  const there = caller(config.url, config.token, `/accounts/${config.account}`);
  // Numbers grow with it, so that each message is new here: the source says what is a repeat by what it hands out.
  const run = `bridge-${crypto.randomUUID()}`;
  let stored = 0;
  let path: string | null = null;
  while (!signal.aborted) {
    try {
      path ??= `/queues/${await idOf(there, config.source)}/messages`;
      const messages = await pull(there, path);
      const taken = messages.filter(isReadable);
      const numbered = taken.map((message) => ({ number: ++stored, ...importShape(message) }));
      for (const batch of batchesByBody(numbered, MAX_CHARS)) {
        await here("POST", `/queues/${config.queue}/import`, {
          source: run,
          partition: DEFAULT_PARTITION,
          messages: batch,
        });
      }
      const refused = messages.filter((message) => !isReadable(message));
      if (messages.length > 0) {
        await there("POST", `${path}/ack`, {
          acks: taken.map(({ lease_id }) => ({ lease_id })),
          retries: refused.map(({ lease_id }) => ({ lease_id, delay_seconds: REFUSED_SECONDS })),
        });
      }
      if (refused.length > 0)
        console.error(`bridge ${config.source}: ${refused.length} messages of type v8 cannot be read here`);
      if (messages.length === 0) await wait(IDLE_MS, signal);
    } catch (error) {
      console.error(`bridge ${config.source}: ${error instanceof Error ? error.message : String(error)}`);
      await wait(FAILED_MS, signal);
    }
  }
}

/** Whoever serves the API of queues lists them by name. */
async function idOf(there: Call, name: string): Promise<string> {
  const found = await there<{ queue_id: string; queue_name: string }[]>("GET", `/queues?name=${name}`);
  const id = found.find((queue) => queue.queue_name === name)?.queue_id;
  if (id === undefined) throw new Error("there is no such queue");
  return id;
}

async function pull(there: Call, path: string): Promise<Pulled[]> {
  const wanted = { batch_size: BATCH_MESSAGES, visibility_timeout_ms: LEASE_MS };
  return (await there<{ messages: Pulled[] }>("POST", `${path}/pull`, wanted)).messages;
}

function typeOf({ metadata }: Pulled): string {
  return metadata?.["CF-Content-Type"] ?? "json";
}

/** The stored form of `v8` is the runtime's own there, and another one here. */
function isReadable(message: Pulled): boolean {
  return ["json", "text", "bytes"].includes(typeOf(message));
}

function importShape(message: Pulled) {
  const { id, timestamp_ms, body } = message;
  return { id, timestamp_ms, body, content_type: typeOf(message) };
}

/** Ends early when the bridge does. */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
