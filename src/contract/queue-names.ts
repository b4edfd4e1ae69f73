import { MAX_NAME_BYTES } from "./limits.ts";
import { nameProblem } from "./names.ts";
import { must } from "./queue-parse.ts";

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const ID = /^[0-9a-f]{32}$/;

/** Whether a queue may have this name. One that looks like an id is none: both are taken wherever a queue is named. */
export function isQueueName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value) && !ID.test(value);
}

/** Whether it is the id of a queue or consumer. */
export function isQueueId(value: string): boolean {
  return ID.test(value);
}

/** A fresh id of a queue or consumer. */
export function newQueueId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

export const queueName = must<string>(
  isQueueName,
  "the name of a queue (1 to 63 lower-case letters, digits and hyphens, with a letter or digit at either end, and not an id)",
  { pattern: NAME.source },
);

/** What a consumer, a Worker or a partition may be called. */
export const label = must<string>(
  (value) => typeof value === "string" && nameProblem(value) === null,
  "a text of 1 to 512 bytes without control characters",
  { minLength: 1, maxLength: MAX_NAME_BYTES },
);
