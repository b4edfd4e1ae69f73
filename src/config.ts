import { parseKeys, type Keys } from "./auth/keys.ts";

import { WaggleError } from "./contract/errors.ts";
import { MAX_WAIT_MS } from "./contract/limits.ts";
import { parseOrigins, type CorsOrigins } from "./contract/origins.ts";
import type { EngineSettings } from "./contract/options.ts";
import type { Declarations } from "./objects/declarations.ts";
import type { DurableQueue } from "./objects/durable-queue.ts";
import type { Owner } from "./objects/owner.ts";

/** The bindings and vars of `wrangler.toml`. Vars given on the command line arrive as text. */
export interface Env {
  OWNER: DurableObjectNamespace<Owner>;
  DECLARATIONS: DurableObjectNamespace<Declarations>;
  DURABLE_QUEUE: DurableObjectNamespace<DurableQueue>;
  AUTH?: string;
  /** A secret. */
  WAGGLE_KEYS?: string;
  CORS_ORIGINS?: string;
  OWNERS?: number | string;
  EPHEMERAL_MAX_BYTES?: number | string;
  EPHEMERAL_MAX_WAITERS?: number | string;
  EPHEMERAL_QUEUE_MAX_BYTES?: number | string;
  EPHEMERAL_QUEUE_MAX_LENGTH?: number | string;
  EPHEMERAL_LEASE_S?: number | string;
  EPHEMERAL_RETRY_LIMIT?: number | string;
  EPHEMERAL_IMPLICIT_IDLE_S?: number | string;
  EPHEMERAL_GROUP_IDLE_S?: number | string;
  CHECKPOINT_MS?: number | string;
  POP_TIMEOUT_MS?: number | string;
  QUEUE_MAX_BYTES?: number | string;
  PLAN?: string;
}

/** The operator's settings, checked. */
export interface Config {
  auth: "required" | "off";
  /** What tokens are signed with; null = none yet. */
  keys: Keys | null;
  /** Whose pages may call from a browser. */
  corsOrigins: CorsOrigins;
  /** How many owners share the ephemeral queues. */
  owners: number;
  /** Memory for ephemeral queues per isolate, in bytes. */
  maxBytes: number;
  /** How old a message may get before it is written to the disk, in ms; 0 = memory only. */
  checkpointMs: number;
  /** How long a waiting pop waits when it does not say. */
  popTimeoutMs: number;
  engine: EngineSettings;
  /** What one partition of a durable queue may hold, in bytes. */
  queueMaxBytes: number;
  /** The Cloudflare plan that the broker runs on. */
  plan: Plan;
}

export type Plan = "free" | "paid";

/** How many calls one event may make to others; the platform allows a little more, and an event makes some by itself. */
export const CALLS_PER_EVENT: Record<Plan, number> = { free: 40, paid: 900 };

type TextVar = "AUTH" | "WAGGLE_KEYS" | "CORS_ORIGINS" | "PLAN";
type NumericVar = Exclude<keyof Env, "OWNER" | "DECLARATIONS" | "DURABLE_QUEUE" | TextVar>;

const parsed = new WeakMap<Env, Config>();

/** Reads the vars. A bad one is an error that names it: a broker with a misspelled bound must not start. */
export function readConfig(env: Env): Config {
  let config = parsed.get(env);
  if (config === undefined) {
    config = parse(env);
    parsed.set(env, config);
  }
  return config;
}

function parse(env: Env): Config {
  const number = (name: NumericVar, fallback: number, min: number, max: number): number => {
    const given: unknown = env[name];
    const value = given === undefined ? fallback : numeric(given);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new WaggleError(
      "bad_configuration",
      `the var ${name} is ${JSON.stringify(given)}; it must be a whole number from ${min} to ${max}`,
    );
  };
  const oneOf = <T extends string>(name: "AUTH" | "PLAN", fallback: T, other: T): T => {
    const given = env[name] ?? fallback;
    if (given === fallback || given === other) return given as T;
    throw new WaggleError(
      "bad_configuration",
      `the var ${name} is ${JSON.stringify(given)}; it must be "${fallback}" or "${other}"`,
    );
  };
  const gib = 1024 ** 3;
  return {
    auth: oneOf<Config["auth"]>("AUTH", "required", "off"),
    keys: env.WAGGLE_KEYS === undefined ? null : parseKeys(env.WAGGLE_KEYS),
    corsOrigins: parseOrigins(env.CORS_ORIGINS ?? ""),
    owners: number("OWNERS", 8, 1, 1024),
    maxBytes: number("EPHEMERAL_MAX_BYTES", 64 * 1024 * 1024, 1, gib),
    checkpointMs: number("CHECKPOINT_MS", 1000, 0, 60_000),
    popTimeoutMs: number("POP_TIMEOUT_MS", 30_000, 0, MAX_WAIT_MS),
    engine: {
      queueMaxBytes: number("EPHEMERAL_QUEUE_MAX_BYTES", 16 * 1024 * 1024, 1, gib),
      queueMaxLength: number("EPHEMERAL_QUEUE_MAX_LENGTH", 10_000, 1, 10_000_000),
      leaseSeconds: number("EPHEMERAL_LEASE_S", 30, 1, 86_400),
      retryLimit: number("EPHEMERAL_RETRY_LIMIT", 5, 0, 1000),
      implicitIdleMs: number("EPHEMERAL_IMPLICIT_IDLE_S", 300, 1, 86_400) * 1000,
      groupIdleSeconds: number("EPHEMERAL_GROUP_IDLE_S", 300, 0, 31_536_000),
      maxWaiters: number("EPHEMERAL_MAX_WAITERS", 10_000, 1, 1_000_000),
    },
    // An object may hold 10 GB, and needs room for what it keeps beside the messages.
    queueMaxBytes: number("QUEUE_MAX_BYTES", 8_000_000_000, 1, 9_500_000_000),
    plan: oneOf<Plan>("PLAN", "paid", "free"),
  };
}

/** A var of `wrangler.toml` is a number, one of the command line a text; anything else is none. */
function numeric(given: unknown): number {
  if (typeof given === "number") return given;
  return typeof given === "string" && given.trim() !== "" ? Number(given) : NaN;
}
