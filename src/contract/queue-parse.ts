import * as z from "zod/mini";
import { parseOr, shown } from "./parse.ts";
import { QueueError, type QueueErrorCode } from "./queue-errors.ts";

/** Checks a value against a schema; a violation names the key and the value and says what is allowed. */
export function parseQueue<T>(schema: z.core.$ZodType<T>, value: unknown, code: QueueErrorCode = 10400): T {
  return parseOr(schema, value, (problem) => new QueueError(code, problem));
}

/** A whole number of a range. */
export function whole(min: number, max: number) {
  return must<number>(
    (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    `a whole number from ${min} to ${max}`,
    { type: "integer", minimum: min, maximum: max },
  );
}

/**
 * A value that passes a test; `what` says in words what that is, and `shape` in JSON Schema, as far as that goes: by
 * default it is a text.
 */
export function must<T>(test: (value: unknown) => boolean, what: string, shape: Record<string, unknown> = {}) {
  const schema = z.custom<T>(test, { error: ({ input }) => `must be ${what}, not ${shown(input)}` });
  return schema.register(z.globalRegistry, { type: "string", description: what, ...shape });
}
