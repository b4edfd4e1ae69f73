import { expect, it } from "vitest";
import { configure, freshQueue, list, listed, post, read, refused } from "./support.ts";

const NUMBERS = ["maxLength", "maxBytes", "ttlSeconds", "leaseSeconds", "retryLimit", "groupIdleSeconds"];
const OPTIONS = [...NUMBERS, "policy", "windowBuffer"];
const WINDOW = ["ms", "count"];

/** What a queue runs by when it is declared with no options. */
const DEFAULTS = {
  maxLength: 10_000,
  maxBytes: 16_777_216,
  policy: "reject",
  ttlSeconds: 0,
  leaseSeconds: 30,
  retryLimit: 5,
  windowBuffer: { ms: 0, count: 0 },
  groupIdleSeconds: 3600,
};

/** A refusal must declare nothing, and change nothing of what is declared. */
async function refusedWith(options: string): Promise<string> {
  const [fresh, declared] = [freshQueue(), freshQueue()];
  await configure(declared, { maxLength: 4, policy: "dropOldest" });
  const before = await list();
  const error = await refused(
    post("configure", `{"queue":"${fresh}","options":${options}}`),
    400,
    "ephemeral_bad_request",
  );
  await refused(post("configure", `{"queue":"${declared}","options":${options}}`), 400, "ephemeral_bad_request");
  expect(await list()).toEqual(before);
  return error;
}

const BAD_NUMBERS = ["-1", "1.5", "-0.5", '"3"', '""', "true", "[]", "{}", "[3]", "1e-1"];

it.each(NUMBERS.flatMap((option) => BAD_NUMBERS.map((value) => [option, value])))(
  "refuses %s of %s, naming it and what it may be",
  async (option, value) => {
    const error = await refusedWith(`{"maxLength":9,"${option}":${value}}`);
    expect(error).toContain(option);
    expect(error).toMatch(/whole number|number|at least 0/);
  },
);

it.each(["null", '"Reject"', '"drop_oldest"', '""', "1", "true", "{}", "[]"])(
  "refuses a policy of %s, listing the legal ones",
  async (value) => {
    const error = await refusedWith(`{"policy":${value}}`);
    for (const word of ["policy", "reject", "dropOldest"]) expect(error).toContain(word);
  },
);

it.each(["null", "1", "true", '"x"', "[]", "[1,2]"])("refuses a windowBuffer of %s", async (value) => {
  expect(await refusedWith(`{"windowBuffer":${value}}`)).toMatch(/windowBuffer.*object/);
});

it.each(WINDOW.flatMap((key) => BAD_NUMBERS.map((value) => [key, value])))(
  "refuses a windowBuffer whose %s is %s",
  async (key, value) => {
    const error = await refusedWith(`{"windowBuffer":{"${key}":${value}}}`);
    expect(error).toContain(`windowBuffer.${key}`);
  },
);

it.each(["null", "1", "true", '"x"', "[]", '[{"maxLength":1}]'])("refuses options that are %s", async (value) => {
  expect(await refusedWith(value)).toMatch(/options.*object/);
});

it.each(["maxlength", "MaxLength", "max_length", "ttl", "groupIdle", "", "__proto__", "constructor"])(
  "refuses the unknown option %j, naming it and listing the legal ones",
  async (option) => {
    const error = await refusedWith(`{"maxLength":9,${JSON.stringify(option)}:1}`);
    expect(error).toContain(JSON.stringify(option));
    for (const legal of OPTIONS) expect(error).toContain(legal);
  },
);

it.each(["Ms", "milliseconds", "", "maxLength"])(
  "refuses the unknown key %j of a windowBuffer, naming it and listing the legal ones",
  async (key) => {
    const error = await refusedWith(`{"windowBuffer":{"ms":1,${JSON.stringify(key)}:1}}`);
    expect(error).toContain(JSON.stringify(key));
    for (const legal of WINDOW) expect(error).toMatch(new RegExp(`\\b${legal}\\b`));
  },
);

it("refuses an unknown option whatever its value is", async () => {
  expect(await refusedWith('{"later":null}')).toContain('"later"');
});

it("does not refuse fields that it does not know beside the options", async () => {
  const queue = freshQueue();
  const answer = await read(post("configure", { queue, options: {}, later: 1 }), 201);
  expect(answer).toEqual({ queue, options: {}, declared: true });
});

it.each([
  ["no options", undefined],
  ["empty options", {}],
  ["nulls", Object.fromEntries(NUMBERS.map((option) => [option, null]))],
  ["zeros that mean absent", { maxLength: 0, maxBytes: 0, leaseSeconds: 0 }],
  ["a windowBuffer of nulls", { windowBuffer: { ms: null, count: null } }],
  ["an empty windowBuffer", { windowBuffer: {} }],
  ["a windowBuffer of zeros", { windowBuffer: { ms: 0, count: 0 } }],
])("declares a queue by the defaults with %s, and echoes what was sent", async (_, options) => {
  const queue = freshQueue();
  const answer = await read(post("configure", { queue, options }), 201);
  expect(answer).toEqual({ queue, options: options ?? {}, declared: true });
  expect((await listed(queue))?.options).toEqual(DEFAULTS);
});

it.each([
  [{ maxLength: 10_001 }, { maxLength: 10_000 }],
  [{ maxLength: 1 }, { maxLength: 1 }],
  [{ maxBytes: 16_777_217 }, { maxBytes: 16_777_216 }],
  [{ maxBytes: 1 }, { maxBytes: 1 }],
  [{ ttlSeconds: 0 }, { ttlSeconds: 0 }],
  [{ ttlSeconds: 86_400_000 }, { ttlSeconds: 86_400_000 }],
  [{ leaseSeconds: 86_400 }, { leaseSeconds: 86_400 }],
  [{ leaseSeconds: 86_401 }, { leaseSeconds: 86_400 }],
  [{ retryLimit: 0 }, { retryLimit: 0 }],
  [{ retryLimit: 1001 }, { retryLimit: 1000 }],
  [{ windowBuffer: { ms: 60_001, count: 10_001 } }, { windowBuffer: { ms: 60_000, count: 10_000 } }],
  [{ windowBuffer: { count: 5 } }, { windowBuffer: { ms: 0, count: 5 } }],
  [{ windowBuffer: { ms: 5 } }, { windowBuffer: { ms: 5, count: 0 } }],
  [{ groupIdleSeconds: 0 }, { groupIdleSeconds: 0 }],
  [{ groupIdleSeconds: 7 }, { groupIdleSeconds: 7 }],
  [{ policy: "dropOldest" }, { policy: "dropOldest" }],
  [{ policy: "reject" }, { policy: "reject" }],
])("lists %j as %j, and echoes it as it was sent", async (options, effective) => {
  const queue = freshQueue();
  expect(await read(post("configure", { queue, options }), 201)).toEqual({ queue, options, declared: true });
  expect((await listed(queue))?.options).toEqual({ ...DEFAULTS, ...effective });
});

it("replaces options whole and merges nothing", async () => {
  const queue = freshQueue();
  await configure(queue, {
    maxLength: 5,
    policy: "dropOldest",
    windowBuffer: { ms: 9, count: 9 },
    groupIdleSeconds: 0,
  });
  await configure(queue, { leaseSeconds: 7, windowBuffer: { count: 2 } });
  expect((await listed(queue))?.options).toEqual({ ...DEFAULTS, leaseSeconds: 7, windowBuffer: { ms: 0, count: 2 } });
  await configure(queue);
  expect((await listed(queue))?.options).toEqual(DEFAULTS);
});
