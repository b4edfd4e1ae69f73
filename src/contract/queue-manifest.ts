import * as z from "zod/mini";
import { consumerDraft, type BindingOf, type ConsumerDraft } from "./queue-consumers.ts";
import { QueueError } from "./queue-errors.ts";
import { MAX_WAIT_TIME_MS } from "./queue-limits.ts";
import { label, queueName } from "./queue-names.ts";
import { must, parseQueue, whole } from "./queue-parse.ts";

/** A consumer as a wrangler config has it; its numbers are checked as those of the API. */
export const consumerTable = z.strictObject({
  queue: queueName,
  type: z.optional(z.enum(["worker", "http_pull"])),
  max_batch_size: z.optional(z.unknown()),
  max_batch_timeout: z.optional(whole(0, MAX_WAIT_TIME_MS / 1000)),
  max_retries: z.optional(z.unknown()),
  dead_letter_queue: z.optional(queueName),
  max_concurrency: z.optional(z.unknown()),
  visibility_timeout_ms: z.optional(z.unknown()),
  retry_delay: z.optional(z.unknown()),
});

/** The `queues` table of a Worker's wrangler config, as wrangler takes it, and the Worker's name. */
export const manifestBody = z.strictObject({
  name: label,
  queues: z.strictObject({
    producers: z._default(
      z.array(
        z.strictObject({
          binding: must<string>(
            (value) => typeof value === "string" && /^[A-Za-z_$][\w$]*$/.test(value),
            "the name of a binding",
          ),
          queue: z.optional(queueName),
          delivery_delay: z.optional(z.unknown()),
          remote: z.optional(z.unknown()),
        }),
      ),
      [],
    ),
    consumers: z._default(z.array(consumerTable), []),
  }),
});
type ManifestBody = z.infer<typeof manifestBody>;
type ConsumerTable = ManifestBody["queues"]["consumers"][number];

/** What a Worker declares: the queues that it sends to and those that it consumes. */
export interface Manifest {
  /** The Worker's name. */
  name: string;
  producers: { binding: string; queue: string }[];
  consumers: { queue: string; consumer: ConsumerDraft }[];
  notHonoured: NotHonoured[];
}

/** A key of a manifest that has no effect here. */
export interface NotHonoured {
  /** The queue that it is about. */
  queue: string;
  /** Where it stands, such as `queues.producers[0].remote`. */
  key: string;
  value: unknown;
  reason: string;
  /** What to write into the Worker's wrangler config instead. */
  replacement?: string;
}

/** Reads a manifest. Throws a `QueueError` that names the key, the value and what is allowed. */
export function readManifest(body: unknown, bindingOf: BindingOf): Manifest {
  const { name, queues } = parseQueue(manifestBody, body);
  const producers = queues.producers.map(({ binding, queue }) => ({
    binding,
    queue: queue ?? provisioned(name, binding),
  }));
  const consumers = queues.consumers.map((table, index) => ({
    queue: table.queue,
    consumer: draftOf(name, table, `queues.consumers[${index}]`, bindingOf),
  }));
  return {
    name,
    producers,
    consumers,
    notHonoured: [...ofProducers(queues.producers, producers), ...ofConsumers(queues.consumers)],
  };
}

/** The queue that wrangler makes for a binding that names none. */
function provisioned(worker: string, binding: string): string {
  return parseQueue(queueName, `${worker}-${binding.toLowerCase().replaceAll("_", "-")}`);
}

/** The same consumer in the words of the API, so that its ranges are checked in one place. */
function draftOf(worker: string, table: ConsumerTable, at: string, bindingOf: BindingOf): ConsumerDraft {
  const { type = "worker", dead_letter_queue, max_batch_size, max_batch_timeout, max_retries, retry_delay } = table;
  const settings = given({ batch_size: max_batch_size, max_retries, retry_delay });
  try {
    if (type === "http_pull") {
      const pull = given({ visibility_timeout_ms: table.visibility_timeout_ms });
      return consumerDraft({ type, dead_letter_queue, settings: { ...settings, ...pull } }, bindingOf);
    }
    const max_wait_time_ms = max_batch_timeout === undefined ? undefined : max_batch_timeout * 1000;
    const push = given({ max_concurrency: table.max_concurrency, max_wait_time_ms });
    return consumerDraft(
      { type, script_name: worker, dead_letter_queue, settings: { ...settings, ...push } },
      bindingOf,
    );
  } catch (error) {
    if (!(error instanceof QueueError)) throw error;
    throw new QueueError(
      error.code,
      `${at}: ${error.cause.replace("settings.batch_size", "max_batch_size").replace("settings.", "")}`,
    );
  }
}

function given(settings: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

function ofProducers(tables: ManifestBody["queues"]["producers"], producers: Manifest["producers"]): NotHonoured[] {
  return tables.flatMap((table, index) => {
    const { binding, queue } = producers[index] as Manifest["producers"][number];
    const at = `queues.producers[${index}]`;
    const about = (key: "binding" | "delivery_delay" | "remote", reason: string): NotHonoured[] =>
      table[key] === undefined ? [] : [{ queue, key: `${at}.${key}`, value: table[key], reason }];
    return [
      ...about(
        "binding",
        "a queue binding reaches Cloudflare's own queues; replace the table with a service binding",
      ).map((entry) => ({ ...entry, replacement: serviceBinding(binding, queue) })),
      ...about("delivery_delay", "the delay belongs to the queue: set settings.delivery_delay of the queue"),
      ...about("remote", "a service binding reaches the broker that it names; there is no other one to reach"),
    ];
  });
}

/** What takes the place of a producer's table. */
export function serviceBinding(binding: string, queue: string): string {
  return [
    "[[services]]",
    `binding = ${JSON.stringify(binding)}`,
    'service = "waggle"',
    'entrypoint = "Queue"',
    `props = { queue = ${JSON.stringify(queue)} }`,
    "",
  ].join("\n");
}

const ONLY_PUSHED = "messages are pulled: batches are neither filled nor limited in number by the queue";

function ofConsumers(tables: ConsumerTable[]): NotHonoured[] {
  return tables.flatMap((table, index) => {
    const { queue, type = "worker" } = table;
    const reasons: Record<string, string> =
      type === "worker"
        ? { visibility_timeout_ms: "messages are pushed: the lease lasts as long as the handler runs" }
        : { max_batch_timeout: ONLY_PUSHED, max_concurrency: ONLY_PUSHED };
    return Object.entries(reasons).flatMap(([key, reason]) => {
      const value = table[key as keyof ConsumerTable];
      return value === undefined ? [] : [{ queue, key: `queues.consumers[${index}].${key}`, value, reason }];
    });
  });
}
