import * as z from "zod/mini";
import { WaggleError, type ErrorCode } from "./errors.ts";

/** The parts of a zod issue that the messages are made of. */
interface Issue {
  code?: string;
  path: PropertyKey[];
  message: string;
  input?: unknown;
  expected?: string;
  keys?: string[];
  values?: unknown[];
  minimum?: number | bigint;
  maximum?: number | bigint;
  origin?: string;
}

/** Checks a value against a schema; a violation is an error that names the field and says what is allowed. */
export function parse<T>(schema: z.core.$ZodType<T>, value: unknown, code: ErrorCode = "ephemeral_bad_request"): T {
  return parseOr(schema, value, (problem) => new WaggleError(code, problem));
}

/** The same for whoever has errors of his own. */
export function parseOr<T>(schema: z.core.$ZodType<T>, value: unknown, refusal: (problem: string) => Error): T {
  const result = z.safeParse(schema, value, { reportInput: true });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw refusal(describe(issue as Issue, schema));
}

/** All that is wrong with a value, a line each; `whole` is what the value as a whole is called. */
export function problemsOf(schema: z.core.$ZodType, value: unknown, whole: string): string[] {
  const result = z.safeParse(schema, value, { reportInput: true });
  return (result.error?.issues ?? []).map((issue) => describe(issue as Issue, schema, whole));
}

function describe(issue: Issue, schema: z.core.$ZodType, whole = "the body"): string {
  const field = pathText(issue.path ?? []);
  const where = field === "" ? whole : field;
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return `${where} is required`;
      return `${where} must be ${article(issue.expected)}, not ${shown(issue.input)}`;
    case "unrecognized_keys":
      return `unknown option ${unknownKeys(issue)} in ${where}; there are ${legalKeys(schema, issue.path ?? []).join(", ")}`;
    case "invalid_value":
      return `${where} must be one of ${(issue.values ?? []).map((value) => JSON.stringify(value)).join(", ")}, not ${shown(issue.input)}`;
    case "too_small":
      if (issue.origin === "array")
        return `${where} holds ${lengthOf(issue.input)} items; at least ${issue.minimum} are needed`;
      return `${where} must be at least ${issue.minimum}, not ${shown(issue.input)}`;
    case "too_big":
      if (issue.origin === "array")
        return `${where} holds ${lengthOf(issue.input)} items; at most ${issue.maximum} are allowed`;
      return `${where} must be at most ${issue.maximum}, not ${shown(issue.input)}`;
    case "custom":
      return `${where} ${issue.message}`;
    default:
      return `${where} is not valid: ${shown(issue.input)}`;
  }
}

function unknownKeys({ keys = [], input }: Issue): string {
  const values = input as Record<string, unknown>;
  return keys.map((key) => `${JSON.stringify(key)} (${shown(values[key])})`).join(", ");
}

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? String(key) : `${text}.${String(key)}`),
    "",
  );
}

function article(expected = "valid"): string {
  const name = expected === "int" ? "whole number" : expected === "record" ? "object" : expected;
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

/** The start of a value, as JSON: enough to recognise it by. */
export function shown(value: unknown): string {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** The keys that the object at `path` may have. */
function legalKeys(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  let at: unknown = schema;
  for (const key of path) at = typeof key === "number" ? partsOf(at).element : partsOf(at).shape?.[String(key)];
  return Object.keys(partsOf(at).shape ?? {});
}

interface Parts {
  shape?: Record<string, unknown>;
  element?: unknown;
}

/** What an object or array is made of, below what says that it is optional. */
function partsOf(schema: unknown): Parts {
  const def = (schema as { _zod?: { def?: Parts & { innerType?: unknown } } } | undefined)?._zod?.def;
  return def?.innerType === undefined ? (def ?? {}) : partsOf(def.innerType);
}
