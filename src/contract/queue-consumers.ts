import * as z from "zod/mini";
import type { ConsumerConfig, HttpConsumer, PullConsumer, WorkerConsumer } from "./queue-config.ts";
import {
  DEFAULT_VISIBILITY_TIMEOUT_MS,
  MAX_BATCH_MESSAGES,
  MAX_CONCURRENCY,
  MAX_DELAY_SECONDS,
  MAX_RETRIES,
  MAX_VISIBILITY_TIMEOUT_MS,
  MAX_WAIT_TIME_MS,
} from "./queue-limits.ts";
import { label, queueName } from "./queue-names.ts";
import { must, parseQueue, whole } from "./queue-parse.ts";

/** What a consumer is to be, complete but for what Declarations adds: its id, and the id of the dead-letter queue. */
type Draft<C> = Omit<C, "consumerId" | "deadLetter"> & { deadLetterQueue: string | null };
export type WorkerDraft = Draft<WorkerConsumer>;
/** Without a secret, that of the consumer that it replaces stays. */
export type HttpDraft = Draft<Omit<HttpConsumer, "secret">> & { secret: string | null };
export type PullDraft = Draft<PullConsumer>;
export type ConsumerDraft = WorkerDraft | HttpDraft | PullDraft;

/** Answers the service binding that reaches a Worker; throws when there is none. */
export type BindingOf = (scriptName: string) => string;

const batchSettings = {
  batch_size: z._default(whole(1, MAX_BATCH_MESSAGES), 10),
  max_retries: z._default(whole(0, MAX_RETRIES), 3),
  retry_delay: z._default(whole(0, MAX_DELAY_SECONDS), 0),
};

export const pushSettings = z.strictObject({
  ...batchSettings,
  // The original says null for "as many as it likes"; here it is the default.
  max_concurrency: z.nullish(whole(1, MAX_CONCURRENCY)),
  max_wait_time_ms: z._default(whole(0, MAX_WAIT_TIME_MS), 0),
});

export const pullSettings = z.strictObject({
  ...batchSettings,
  visibility_timeout_ms: z._default(whole(1, MAX_VISIBILITY_TIMEOUT_MS), DEFAULT_VISIBILITY_TIMEOUT_MS),
});

const anyConsumer = { name: z.optional(label), dead_letter_queue: z.nullish(queueName) };

export const workerBody = z.strictObject({
  type: z.literal("worker"),
  script_name: label,
  // wrangler sends an empty one.
  environment_name: z.optional(
    must<"">((value) => value === "", "the empty text: a service binding has no environments"),
  ),
  ...anyConsumer,
  settings: z.prefault(pushSettings, {}),
});

export const httpBody = z.strictObject({
  type: z.literal("http"),
  url: must<string>(isHttpUrl, "an http or https URL without a user and a password"),
  secret: z.optional(label),
  ...anyConsumer,
  settings: z.prefault(pushSettings, {}),
});

export const pullConsumerBody = z.strictObject({
  type: z.literal("http_pull"),
  ...anyConsumer,
  settings: z.prefault(pullSettings, {}),
});

const typed = z.object({ type: z.enum(["worker", "http", "http_pull"]) });

function isHttpUrl(value: unknown): boolean {
  const url = typeof value === "string" ? URL.parse(value) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

/** Reads the body of a consumer, and gives every key that it lacks its default. */
export function consumerDraft(body: unknown, bindingOf: BindingOf): ConsumerDraft {
  switch (parseQueue(typed, body).type) {
    case "worker":
      return workerDraft(parseQueue(workerBody, body), bindingOf);
    case "http":
      return httpDraft(parseQueue(httpBody, body));
    case "http_pull":
      return pullDraft(parseQueue(pullConsumerBody, body));
  }
}

type Settings = z.infer<typeof pushSettings> | z.infer<typeof pullSettings>;

function common(body: { dead_letter_queue?: string | null | undefined; settings: Settings }) {
  return {
    deadLetterQueue: body.dead_letter_queue ?? null,
    batchSize: body.settings.batch_size,
    maxRetries: body.settings.max_retries,
    retryDelaySeconds: body.settings.retry_delay,
  };
}

function pushed({ max_concurrency, max_wait_time_ms }: z.infer<typeof pushSettings>) {
  return { maxConcurrency: max_concurrency ?? 1, maxWaitMs: max_wait_time_ms };
}

function workerDraft(body: z.infer<typeof workerBody>, bindingOf: BindingOf): WorkerDraft {
  const { script_name: scriptName, name = scriptName } = body;
  return {
    type: "worker",
    name,
    scriptName,
    binding: bindingOf(scriptName),
    ...common(body),
    ...pushed(body.settings),
  };
}

function httpDraft(body: z.infer<typeof httpBody>): HttpDraft {
  const { url, name = new URL(url).host, secret = null } = body;
  return { type: "http", name, url, secret, ...common(body), ...pushed(body.settings) };
}

function pullDraft(body: z.infer<typeof pullConsumerBody>): PullDraft {
  const { name = "pull", settings } = body;
  return { type: "http_pull", name, visibilityTimeoutMs: settings.visibility_timeout_ms, ...common(body) };
}

/** The settings of a consumer in the words of the wire. */
export function wireSettings(consumer: ConsumerConfig): Record<string, number> {
  const settings = {
    batch_size: consumer.batchSize,
    max_retries: consumer.maxRetries,
    retry_delay: consumer.retryDelaySeconds,
  };
  if (consumer.type === "http_pull") return { ...settings, visibility_timeout_ms: consumer.visibilityTimeoutMs };
  return { ...settings, max_concurrency: consumer.maxConcurrency, max_wait_time_ms: consumer.maxWaitMs };
}
