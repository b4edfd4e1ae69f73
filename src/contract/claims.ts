import * as z from "zod/mini";
import { nameProblem } from "./names.ts";
import { must, whole } from "./queue-parse.ts";
import { DURABLE_VERBS, EPHEMERAL_VERBS } from "./rights.ts";

/** Entries of one list. A token is sent with every request, and every request walks through it. */
const MAX_ENTRIES = 100;

const DURABLE_PATTERN = /^(?:\*|[a-z0-9][a-z0-9-]{0,62}\*?)$/;

const namePattern = must<string>(isNamePattern, "a name, whose last character may be a * for any rest");
const durablePattern = must<string>(
  (value) => typeof value === "string" && DURABLE_PATTERN.test(value),
  "the name or the id of a durable queue, whose last character may be a * for any rest",
  { pattern: DURABLE_PATTERN.source },
);

/** A `*` anywhere but at the end would be read as a wildcard by whoever writes it, and is none: it is refused. */
function isNamePattern(value: unknown): boolean {
  if (typeof value !== "string") return false;
  const fixed = value.endsWith("*") ? value.slice(0, -1) : value;
  return nameProblem(value) === null && !fixed.includes("*");
}

const ephemeralClaim = z.strictObject({
  queue: namePattern,
  partition: z.optional(namePattern),
  group: z.optional(namePattern),
  verbs: z.array(z.enum(EPHEMERAL_VERBS)).check(z.minLength(1), z.maxLength(EPHEMERAL_VERBS.length)),
});

const durableClaim = z.strictObject({
  queue: durablePattern,
  verbs: z.array(z.enum(DURABLE_VERBS)).check(z.minLength(1), z.maxLength(DURABLE_VERBS.length)),
});

/** What a token lets its holder do. The list is closed: a right that is misspelled is an error and not a right less. */
export const claimsSchema = z.strictObject({
  ephemeral: z.optional(z.array(ephemeralClaim).check(z.maxLength(MAX_ENTRIES))),
  queues: z.optional(z.array(durableClaim).check(z.maxLength(MAX_ENTRIES))),
  admin: z.optional(z.literal(true)),
});

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
  expiresInSeconds: whole(1, MAX_TOKEN_SECONDS),
});
