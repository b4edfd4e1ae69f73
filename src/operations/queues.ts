import * as z from "zod/mini";
import {
  MAX_BATCH_MESSAGES,
  MAX_DELAY_SECONDS,
  MAX_RETENTION_SECONDS,
  MIN_RETENTION_SECONDS,
} from "../contract/queue-limits.ts";
import { v1, type Api } from "./api.ts";
import { field, operation, type Operation } from "./operation.ts";
import { whole } from "./whole.ts";

/** The verbs of durable queues. */

export const queue = field(z.string(), "the queue, by its name or its id");
const delaySeconds = field(
  z.optional(whole(0, MAX_DELAY_SECONDS)),
  `how long a message waits before its first delivery, up to ${MAX_DELAY_SECONDS} s`,
);
const retentionSeconds = field(
  z.optional(whole(MIN_RETENTION_SECONDS, MAX_RETENTION_SECONDS)),
  `how long a message is kept, ${MIN_RETENTION_SECONDS} to ${MAX_RETENTION_SECONDS} s`,
);
const limit = field(z._default(whole(1, MAX_BATCH_MESSAGES), 10), `how many messages, up to ${MAX_BATCH_MESSAGES}`);

/** How many queues are asked at the same time. */
const AT_ONCE = 8;

interface QueueRecord {
  queue_id: string;
}

interface Metrics {
  backlog_count: number;
  backlog_bytes: number;
  oldest_message_timestamp_ms: number;
}

export const queueOperations: Operation[] = [
  operation({
    name: "queue ls",
    summary: "List the durable queues with their backlogs.",
    input: {},
    run: list,
  }),
  operation({
    name: "queue create",
    summary: "Declare a queue.",
    input: { queue: field(z.string(), "what it is to be called"), delaySeconds, retentionSeconds },
    args: ["queue"],
    run: (api, { queue: queue_name, ...given }) => api.post(v1`queues`, { queue_name, settings: settingsOf(given) }),
  }),
  operation({
    name: "queue info",
    summary: "Show a queue: settings, consumers, and why messages do or do not arrive.",
    input: { queue },
    args: ["queue"],
    run: (api, input) => api.get(v1`queues/${input.queue}`),
  }),
  operation({
    name: "queue set",
    summary: "Change settings of a queue. What is not given stays.",
    input: { queue, name: field(z.optional(z.string()), "a new name"), delaySeconds, retentionSeconds },
    args: ["queue"],
    run: (api, { queue: id, name, ...given }) =>
      api.patch(v1`queues/${id}`, { queue_name: name, settings: settingsOf(given) }),
  }),
  operation({
    name: "queue send",
    summary: "Send messages.",
    input: {
      queue,
      bodies: field(
        z.array(z.unknown()).check(z.minLength(1), z.maxLength(MAX_BATCH_MESSAGES)),
        "the bodies: JSON values, texts, or base64 texts, as the type says",
      ),
      type: field(z._default(z.enum(["json", "text", "bytes"]), "json"), "what the bodies are"),
      delaySeconds,
      partition: field(z.optional(z.string()), "the partition; Default when absent"),
    },
    args: ["queue", "bodies"],
    run: async (api, { queue: id, bodies, type, delaySeconds: delay_seconds, partition }) => {
      const messages = bodies.map((body) => ({ body, content_type: type }));
      await api.post(v1`queues/${id}/messages/batch`, { messages, delay_seconds, partition });
      return { sent: bodies.length };
    },
  }),
  operation({
    name: "queue peek",
    summary: "Look at the oldest messages. Nothing is leased.",
    input: { queue, limit },
    args: ["queue"],
    run: (api, input) => api.post(v1`queues/${input.queue}/messages/peek`, { batch_size: input.limit }),
  }),
  operation({
    name: "queue purge",
    summary: "Remove every message of a queue.",
    input: { queue },
    args: ["queue"],
    isDestructive: true,
    run: (api, input) => api.post(v1`queues/${input.queue}/purge`, { delete_messages_permanently: true }),
  }),
  operation({
    name: "queue pause",
    summary: "Stop delivery and pulling. Sends go on.",
    input: { queue },
    args: ["queue"],
    run: (api, input) => setPaused(api, input.queue, true),
  }),
  operation({
    name: "queue resume",
    summary: "Start delivery again.",
    input: { queue },
    args: ["queue"],
    run: (api, input) => setPaused(api, input.queue, false),
  }),
  operation({
    name: "queue rm",
    summary: "Delete a queue with all of its messages and consumers.",
    input: { queue },
    args: ["queue"],
    isDestructive: true,
    run: (api, input) => api.delete(v1`queues/${input.queue}`),
  }),
];

async function list(api: Api): Promise<unknown> {
  const queues = await api.get<QueueRecord[]>(v1`queues`);
  const rows: unknown[] = [];
  for (let from = 0; from < queues.length; from += AT_ONCE) {
    const some = queues.slice(from, from + AT_ONCE);
    rows.push(...(await Promise.all(some.map(async (record) => ({ ...record, metrics: await metrics(api, record) })))));
  }
  return rows;
}

function metrics(api: Api, { queue_id }: QueueRecord): Promise<Metrics> {
  return api.get(v1`queues/${queue_id}/metrics`);
}

function setPaused(api: Api, id: string, delivery_paused: boolean): Promise<unknown> {
  return api.patch(v1`queues/${id}`, { settings: { delivery_paused } });
}

function settingsOf(given: { delaySeconds?: number | undefined; retentionSeconds?: number | undefined }) {
  return { delivery_delay: given.delaySeconds, message_retention_period: given.retentionSeconds };
}
