import type { Finding } from "../operations/doctor.ts";
import type { Output } from "./output.ts";
import { age, bytes, pairs, shown, table } from "./table.ts";

/** Results as people read them, by the operation. What is not named here is printed as JSON. */
type Renderer = (result: never, output: Output) => string;

interface Queue {
  queue_id: string;
  queue_name: string;
  consumers: Consumer[];
  settings: { delivery_delay: number; delivery_paused: boolean; message_retention_period: number };
}

interface ListedQueue extends Queue {
  metrics: { backlog_count: number; backlog_bytes: number; oldest_message_timestamp_ms: number };
}

interface Consumer {
  consumer_id: string;
  name: string;
  type: string;
  dead_letter_queue: string | null;
  settings: Record<string, number>;
}

interface DetailedQueue extends Queue {
  status: {
    ready_count: number;
    delayed_count: number;
    leased_count: number;
    backlog_bytes: number;
    oldest_message_age_seconds: number | null;
    next_alarm: string | null;
    dropped: Record<string, number>;
    dead_lettered: number;
    last_delivery: string | null;
    last_outcome: string | null;
    last_error: string | null;
    partitions: { partition: string; ready_count: number; delayed_count: number; leased_count: number }[];
  };
}

interface Message {
  id: string;
  timestamp_ms: number;
  attempts: number;
  state: string;
  body: string;
  metadata: { "CF-Content-Type": string };
}

interface EphemeralQueue {
  queue: string;
  tier: string;
  depth: number;
  bytes: number;
  partitions: number;
  groups: number;
  drops: { bounds: number; ttl: number; retry: number };
}

interface EphemeralMessage {
  partition: string;
  payload: unknown;
}

interface Applied {
  queues: (Queue & { created: boolean; not_honoured: { key: string; reason?: string }[] })[];
  removed_consumers: Consumer[];
}

export const renderers: Record<string, Renderer> = {
  "queue ls": (queues: ListedQueue[]) => {
    if (queues.length === 0) return "There is no durable queue. Declare one: waggle queue create NAME";
    const heads = ["QUEUE", "MESSAGES", "BYTES", "OLDEST", "CONSUMERS", "DELIVERY"];
    return table(heads, queues.map(queueRow));
  },
  "queue create": ({ queue_name }: Queue) => `${queue_name} is declared.`,
  "queue set": ({ queue_name, settings }: Queue) => `${queue_name}: ${settingsText(settings)}`,
  "queue info": queueText,
  "queue send": ({ sent }: { sent: number }) => `${counted(sent, "message")} sent.`,
  "queue peek": ({ messages }: { messages: Message[] }) =>
    messages.length === 0 ? "Nothing is there." : messageTable(messages),
  "queue purge": ({ queue_name }: Queue) => `${queue_name} is empty.`,
  "queue pause": ({ queue_name }: Queue) => `Delivery of ${queue_name} is paused; sends go on.`,
  "queue resume": ({ queue_name }: Queue) => `${queue_name} is delivered again.`,
  "queue rm": ({ queue_name }: Queue) => `${queue_name} is deleted.`,
  "queue consumers": (consumers: Consumer[]) =>
    consumers.length === 0 ? "It has no consumer." : consumerTable(consumers),
  "queue consume": (consumer: Consumer) => consumerTable([consumer]),
  "queue unconsume": ({ name }: Consumer) => `${name} is no consumer any more.`,
  "queue dlq replay": replayText,
  "ephemeral ls": ({ queues }: { queues: EphemeralQueue[] }) =>
    queues.length === 0 ? "There is no ephemeral queue: the first push or pop creates one." : ephemeralTable(queues),
  "ephemeral push": ({ pushed }: { pushed: number }) => `${counted(pushed, "message")} pushed.`,
  "ephemeral pop": ({ messages }: { messages: EphemeralMessage[] }) =>
    messages.length === 0 ? "Nothing came." : payloadLines(messages),
  "ephemeral peek": ({ messages }: { messages: EphemeralMessage[] }) =>
    messages.length === 0 ? "Nothing is there." : payloadLines(messages),
  "ephemeral groups": (groups: { group: string; pending: number; skipped: number }[]) =>
    table(
      ["GROUP", "PENDING", "SKIPPED"],
      groups.map(({ group, pending, skipped }) => [group, pending, skipped]),
    ),
  "ephemeral drop-group": ({ group, deleted }: { group: string; deleted: boolean }) =>
    `${group} ${deleted ? "is deleted" : "was not there"}.`,
  "ephemeral configure": ({ queue, options }: { queue: string; options: unknown }) =>
    `${queue} is declared: ${shown(options)}`,
  "ephemeral reset": ({ queue, dropped }: { queue: string; dropped: number }) =>
    `${queue} is empty; ${counted(dropped, "message")} dropped.`,
  "ephemeral rm": ({ queue, deleted }: { queue: string; deleted: boolean }) =>
    `${queue} ${deleted ? "is deleted" : "was not there"}.`,
  apply: appliedText,
  "token mint": ({ token }: { token: string }) => token,
  doctor: ({ findings }: { findings: Finding[] }, output) =>
    findings.map((finding) => findingText(finding, output)).join("\n"),
};

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function queueRow({ queue_name, consumers, settings, metrics }: ListedQueue): unknown[] {
  const { backlog_count, backlog_bytes, oldest_message_timestamp_ms: oldest } = metrics;
  const oldestAge = oldest === 0 ? null : (Date.now() - oldest) / 1000;
  const delivery = settings.delivery_paused ? "paused" : "on";
  return [
    queue_name,
    backlog_count,
    bytes(backlog_bytes),
    age(oldestAge),
    consumers.map(({ name }) => name).join(" ") || "-",
    delivery,
  ];
}

function settingsText({ delivery_delay, delivery_paused, message_retention_period }: Queue["settings"]): string {
  return `delay ${age(delivery_delay)}, retention ${age(message_retention_period)}, delivery ${delivery_paused ? "paused" : "on"}`;
}

function queueText({ queue_id, queue_name, consumers, settings, status }: DetailedQueue): string {
  const rows: [string, unknown][] = [
    ["queue", queue_name],
    ["id", queue_id],
    ["settings", settingsText(settings)],
    [
      "messages",
      `${status.ready_count} ready, ${status.delayed_count} delayed, ${status.leased_count} leased; ${bytes(status.backlog_bytes)}`,
    ],
    ["oldest", age(status.oldest_message_age_seconds)],
    [
      "dropped",
      Object.entries(status.dropped)
        .map(([reason, count]) => `${count} ${reason}`)
        .join(", "),
    ],
    ["dead-lettered", status.dead_lettered],
    [
      "last delivery",
      [status.last_delivery, status.last_outcome, status.last_error].filter((part) => part !== null).join(" ") || "-",
    ],
    ["next alarm", status.next_alarm],
  ];
  const parts = status.partitions.map((part) => [
    part.partition,
    part.ready_count,
    part.delayed_count,
    part.leased_count,
  ]);
  return [
    pairs(rows),
    ...(parts.length === 0 ? [] : [table(["PARTITION", "READY", "DELAYED", "LEASED"], parts)]),
    consumers.length === 0 ? "It has no consumer." : consumerTable(consumers),
  ].join("\n\n");
}

function consumerTable(consumers: Consumer[]): string {
  const heads = ["CONSUMER", "TYPE", "ID", "DEAD LETTERS", "SETTINGS"];
  const settings = (consumer: Consumer) =>
    Object.entries(consumer.settings)
      .map(([key, value]) => `${key}=${value}`)
      .join(" ");
  return table(
    heads,
    consumers.map((one) => [one.name, one.type, one.consumer_id, one.dead_letter_queue, settings(one)]),
  );
}

function messageTable(messages: Message[]): string {
  const rows = messages.map((message) => [
    message.id,
    age((Date.now() - message.timestamp_ms) / 1000),
    message.state,
    message.attempts,
    bodyText(message),
  ]);
  return table(["ID", "AGE", "STATE", "ATTEMPTS", "BODY"], rows);
}

const MAX_BODY_CHARS = 200;

/** A body as far as it can be read. */
export function bodyText({ body, metadata }: Pick<Message, "body" | "metadata">): string {
  const type = metadata["CF-Content-Type"];
  const text = type === "json" ? Buffer.from(body, "base64").toString() : type === "text" ? body : `${type} ${body}`;
  return text.length > MAX_BODY_CHARS ? `${text.slice(0, MAX_BODY_CHARS)}…` : text;
}

function replayText({ replayed, skipped }: { replayed: Record<string, number>; skipped: number }): string {
  const lines = Object.entries(replayed).map(([queue, count]) => `${counted(count, "message")} to ${queue}.`);
  if (skipped > 0)
    lines.push(`${counted(skipped, "message")} skipped: leased, delayed, or of unknown origin (--to sends those).`);
  return lines.join("\n") || "Nothing to replay.";
}

function ephemeralTable(queues: EphemeralQueue[]): string {
  const heads = ["QUEUE", "MESSAGES", "BYTES", "PARTITIONS", "GROUPS", "DROPS", "TIER"];
  return table(
    heads,
    queues.map(({ queue, depth, bytes: size, partitions, groups, drops, tier }) => {
      return [queue, depth, bytes(size), partitions, groups, drops.bounds + drops.ttl + drops.retry, tier];
    }),
  );
}

export function payloadLines(messages: EphemeralMessage[]): string {
  return messages.map(({ partition, payload }) => `${shown(partition)}  ${shown(JSON.stringify(payload))}`).join("\n");
}

function appliedText({ queues, removed_consumers }: Applied): string {
  const lines = queues.flatMap((queue) => [
    `${queue.queue_name}${queue.created ? " (new)" : ""}: ${settingsText(queue.settings)}`,
    ...queue.consumers.map(({ name, type, dead_letter_queue, settings }) => {
      const values = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
      return `  consumer ${name} (${type}): ${values.join(" ")}${dead_letter_queue === null ? "" : ` dead letters to ${dead_letter_queue}`}`;
    }),
    ...queue.not_honoured.map(
      (entry) => `  not honoured: ${shown(entry.key)}${entry.reason === undefined ? "" : `, ${entry.reason}`}`,
    ),
  ]);
  return [...lines, ...removed_consumers.map(({ name }) => `removed: consumer ${name}`)].join("\n");
}

function findingText({ queue, level, what, fix }: Finding, output: Output): string {
  const colour = { ok: "green", warning: "yellow", problem: "red" } as const;
  const head = `${output.style(colour[level], level.padEnd(7))}  ${queue === null ? "" : `${queue}: `}${shown(what)}`;
  return fix === null ? head : `${head}\n         ${fix}`;
}
