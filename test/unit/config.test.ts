import { describe, expect, it } from "vitest";
import { readConfig, type Config, type Env } from "../../src/config.ts";
import { WaggleError } from "../../src/contract/errors.ts";

const bindings = {} as Pick<Env, "OWNER" | "DECLARATIONS">;

function configOf(vars: Record<string, unknown>): Config {
  return readConfig({ ...bindings, ...vars } as Env);
}

const GIB = 1024 ** 3;

/** Each var with its default, its limits, and how the setting that it becomes is read. */
const VARS: [name: string, fallback: number, min: number, max: number, read: (config: Config) => number][] = [
  ["OWNERS", 8, 1, 1024, ({ owners }) => owners],
  ["EPHEMERAL_MAX_BYTES", 67_108_864, 1, GIB, ({ maxBytes }) => maxBytes],
  ["EPHEMERAL_MAX_WAITERS", 10_000, 1, 1_000_000, ({ engine }) => engine.maxWaiters],
  ["EPHEMERAL_QUEUE_MAX_BYTES", 16_777_216, 1, GIB, ({ engine }) => engine.queueMaxBytes],
  ["EPHEMERAL_QUEUE_MAX_LENGTH", 10_000, 1, 10_000_000, ({ engine }) => engine.queueMaxLength],
  ["EPHEMERAL_LEASE_S", 30, 1, 86_400, ({ engine }) => engine.leaseSeconds],
  ["EPHEMERAL_RETRY_LIMIT", 5, 0, 1000, ({ engine }) => engine.retryLimit],
  ["EPHEMERAL_IMPLICIT_IDLE_S", 300, 1, 86_400, ({ engine }) => engine.implicitIdleMs / 1000],
  ["EPHEMERAL_GROUP_IDLE_S", 300, 0, 31_536_000, ({ engine }) => engine.groupIdleSeconds],
  ["POP_TIMEOUT_MS", 30_000, 0, 300_000, ({ popTimeoutMs }) => popTimeoutMs],
  ["CHECKPOINT_MS", 1000, 0, 60_000, ({ checkpointMs }) => checkpointMs],
  ["QUEUE_MAX_BYTES", 8_000_000_000, 1, 9_500_000_000, ({ queueMaxBytes }) => queueMaxBytes],
];

describe.each(VARS)("the var %s", (name, fallback, min, max, read) => {
  it("has a default", () => {
    expect(read(configOf({}))).toBe(fallback);
    expect(read(configOf({ [name]: undefined }))).toBe(fallback);
  });

  it("is read as a number and as text", () => {
    const between = Math.min(max, min + 7);
    for (const value of [min, between, max]) {
      expect(read(configOf({ [name]: value }))).toBe(value);
      expect(read(configOf({ [name]: String(value) }))).toBe(value);
    }
  });

  it("moves no other setting", () => {
    const changed = configOf({ [name]: min });
    for (const [other, otherDefault, , , readOther] of VARS) {
      if (other !== name) expect(readOther(changed), other).toBe(otherDefault);
    }
  });

  it.each([
    min - 1,
    max + 1,
    min + 0.5,
    NaN,
    Infinity,
    "",
    " ",
    "many",
    "1,000",
    "7s",
    "0b",
    "null",
    null,
    true,
    {},
    [],
  ])("is refused by name when it is %j", (value) => {
    const act = () => configOf({ [name]: value });
    expect(act).toThrow(WaggleError);
    expect(act).toThrow(name);
    expect(act).toThrow(`from ${min} to ${max}`);
  });
});

it("asks for authorisation unless it is told not to", () => {
  expect(configOf({}).auth).toBe("required");
  expect(configOf({ AUTH: "required" }).auth).toBe("required");
  expect(configOf({ AUTH: "off" }).auth).toBe("off");
  for (const AUTH of ["", "Off", "on", "none", "false"]) expect(() => configOf({ AUTH })).toThrow("AUTH");
});

it("takes the plan to be the paid one unless it is told otherwise", () => {
  expect(configOf({}).plan).toBe("paid");
  expect(configOf({ PLAN: "paid" }).plan).toBe("paid");
  expect(configOf({ PLAN: "free" }).plan).toBe("free");
  for (const PLAN of ["", "Free", "enterprise", 1]) expect(() => configOf({ PLAN })).toThrow("PLAN");
});

it("reads the vars of an environment once", () => {
  const env = { ...bindings } as Env;
  expect(readConfig(env)).toBe(readConfig(env));
});
