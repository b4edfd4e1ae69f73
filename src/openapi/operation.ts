import * as z from "zod/mini";
import type { ErrorCode } from "../contract/errors.ts";
import type { QueueErrorCode } from "../contract/queue-errors.ts";

export type Schema = z.core.$ZodType;

export const TAGS = {
  "durable queues": "Queues that are kept on disk, with the contract of Cloudflare Queues.",
  messages: "What durable queues hold.",
  consumers: "Who gets the messages of durable queues.",
  declarations: "Manifests of Workers, and bridges from Cloudflare Queues.",
  "ephemeral queues": "Queues in memory, for request/reply, presence and signals.",
  system: "The broker as a whole.",
} as const;

/** What one route takes and answers. */
export interface Operation {
  /** Unique among all routes, and a good name for the method of a generated client. */
  id: string;
  tag: keyof typeof TAGS;
  /** One line. */
  summary: string;
  description?: string;
  /** The segments that the path names. */
  params?: Record<string, Schema>;
  query?: Record<string, Schema>;
  /** The schema that the route parses its body with. */
  body?: Schema;
  /** Whether a request without a body counts as one with an empty object. */
  mayLackBody?: boolean;
  answers: Answer[];
  /** Codes that this route refuses with. */
  errors: (ErrorCode | QueueErrorCode)[];
  /** Who may call it; by default whoever has a token with the right to. */
  access?: "ticket" | "open";
  /** What is sent over the WebSocket that it opens. */
  frames?: { client: Schema; broker: Schema };
}

interface Answer {
  status: number;
  description: string;
  /** By default `application/json`. */
  contentType?: string;
  schema?: Schema;
}

/** Adds to what is known of a schema, such as in words what it means. The same schema is described once. */
export function described<S extends Schema>(schema: S, more: Record<string, unknown> | string): S {
  const added = typeof more === "string" ? { description: more } : more;
  z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), ...added });
  return schema;
}

/** A text that means something, such as a time. */
export function text(description: string, more: Record<string, unknown> = {}) {
  return described(z.string(), { description, ...more });
}

/** A count of something. */
export function count(description: string) {
  return described(z.number().check(z.int(), z.nonnegative()), { description });
}

export const time = text("when, in ISO 8601", { format: "date-time" });
