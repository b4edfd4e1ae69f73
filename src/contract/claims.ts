import * as z from "zod/mini";
import { nameProblem } from "./names.ts";
import { must } from "./queue-parse.ts";

/** What a token may let its holder do with an ephemeral queue. */
export const EPHEMERAL_VERBS = ["push", "pop", "ack"] as const;
/** What a token may let its holder do with a durable queue. A send is one message or a batch. */
export const DURABLE_VERBS = ["send", "pull", "ack", "peek", "metrics"] as const;

export type EphemeralVerb = (typeof EPHEMERAL_VERBS)[number];
export type DurableVerb = (typeof DURABLE_VERBS)[number];

/** Entries of one list. A token is sent with every request, and every request walks through it. */
const MAX_ENTRIES = 100;

const DURABLE_PATTERN = /^(?:\*|[a-z0-9][a-z0-9-]{0,62}\*?)$/;

const namePattern = must<string>(isNamePattern, "a name, whose last character may be a * for any rest");
const durablePattern = must<string>(
  (value) => typeof value === "string" && DURABLE_PATTERN.test(value),
  "the name or the id of a durable queue, whose last character may be a * for any rest",
);

/** A `*` anywhere but at the end would be read as a wildcard by whoever writes it, and is none: it is refused. */
function isNamePattern(value: unknown): boolean {
  if (typeof value !== "string") return false;
  const fixed = value.endsWith("*") ? value.slice(0, -1) : value;
  return nameProblem(value) === null && !fixed.includes("*");
}

const ephemeralClaim = z.strictObject({
  queue: namePattern,
  /** Absent = every partition, and all of them at once. */
  partition: z.optional(namePattern),
  /** Absent = every group, and queue mode. */
  group: z.optional(namePattern),
  verbs: z.array(z.enum(EPHEMERAL_VERBS)).check(z.minLength(1), z.maxLength(EPHEMERAL_VERBS.length)),
});
export type EphemeralClaim = z.infer<typeof ephemeralClaim>;

const durableClaim = z.strictObject({
  queue: durablePattern,
  verbs: z.array(z.enum(DURABLE_VERBS)).check(z.minLength(1), z.maxLength(DURABLE_VERBS.length)),
});
export type DurableClaim = z.infer<typeof durableClaim>;

/** What a token lets its holder do. The list is closed: a right that is misspelled is an error and not a right less. */
export const claimsSchema = z.strictObject({
  ephemeral: z.optional(z.array(ephemeralClaim).check(z.maxLength(MAX_ENTRIES))),
  queues: z.optional(z.array(durableClaim).check(z.maxLength(MAX_ENTRIES))),
  /** Everything, on every queue. */
  admin: z.optional(z.literal(true)),
});
export type Claims = z.infer<typeof claimsSchema>;

/** What a token's payload may hold: its claims, and of the registered ones those that Waggle does not have to obey. */
export const tokenPayload = z.strictObject({
  ...claimsSchema.shape,
  exp: z.number(),
  nbf: z.optional(z.number()),
  iat: z.optional(z.number()),
  iss: z.optional(z.string()),
  sub: z.optional(z.string()),
  jti: z.optional(z.string()),
});

/** The longest life of a token that the broker mints: a year. */
export const MAX_TOKEN_SECONDS = 31_536_000;

export const mintBody = z.strictObject({
  claims: claimsSchema,
  expiresInSeconds: must<number>(
    (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_TOKEN_SECONDS,
    `a whole number from 1 to ${MAX_TOKEN_SECONDS}`,
  ),
});
