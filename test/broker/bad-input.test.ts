import { afterEach, expect, it } from "vitest";
import { call, list, post, refused } from "./support.ts";

const BAD = [400, "ephemeral_bad_request"] as const;
const BODY_ROUTES = ["push", "ack", "configure", "reset"];

/** A body that each route would take. */
const VALID: Record<string, string> = {
  push: '{"queue":"q","partition":"p\\n","messages":[{"payload":{"a":[1,-2.5e3,true,null,"\\u0041é"]}},{"payload":0}]}',
  ack: '{"queue":"q","group":"g","acks":[{"id":"e:1:p:0","status":"retry","error":"é\\"","attempts":12}]}',
  configure: '{"queue":"q","options":{"maxLength":12,"policy":"reject","windowBuffer":{"ms":1,"count":2}}}',
  reset: '{"queue":"q","unknown":[{"a":false},"b"]}',
};

/** Nothing that is refused may leave anything behind. */
afterEach(async () => {
  expect(await list()).toEqual({ queues: [], count: 0, cellBytes: 0 });
});

function nested(open: string, levels: number, close: string): string {
  return open.repeat(levels) + close.repeat(levels);
}

const DEEP = nested("[", 1_000_000, "]");
const DEEP_OBJECT = `${'{"":'.repeat(50_000)}1${"}".repeat(50_000)}`;

const WRONG_TYPES = ["1", "true", "null", "[]", "{}", '["q"]', '{"queue":"q"}', "1.5", "-0", DEEP, DEEP_OBJECT];

it.each(BODY_ROUTES)("refuses a body of %s that is not an object", async (route) => {
  for (const body of ["1", "true", "null", "[]", '"text"', '[{"queue":"q"}]', "1e999", DEEP]) {
    await refused(post(route, body), ...BAD);
  }
});

it.each(BODY_ROUTES)("refuses a body of %s that is not JSON", async (route) => {
  const valid = VALID[route] ?? "";
  const garbage = [
    "",
    " ",
    "\u0000",
    "queue=q&messages=1",
    "{",
    "}",
    "{}{}",
    "{'queue':'q'}",
    "{queue:1}",
    '{"queue":"q",}',
    '{"queue":"q"} x',
    `${valid}${valid}`,
    `${valid},`,
    `[${valid}`,
    valid.replace('"q"', "NaN"),
    valid.replace('"q"', "undefined"),
    valid.replace('"q"', "01"),
    valid.replace('"q"', '"a\nb"'),
    valid.replace('"q"', '"\\x41"'),
    valid.replace('"q"', '"\\u00g0"'),
    valid.replace('"q"', "/* q */"),
    valid.replace(":", "="),
    valid.replace(":", "::"),
    "[".repeat(1_000_000),
    '{"a":'.repeat(200_000),
    `{"queue":${"[".repeat(1_000_000)}`,
    "]".repeat(1000),
    "-",
  ];
  for (const body of garbage) await refused(post(route, body), ...BAD);
});

it.each(BODY_ROUTES)("refuses a body of %s that is cut short, at every byte", async (route) => {
  const bytes = new TextEncoder().encode(VALID[route]);
  const cuts = Array.from({ length: bytes.length }, (_, length) => bytes.slice(0, length));
  const send = (body: Uint8Array<ArrayBuffer>) => call(`/api/v1/ephemeral/${route}`, { method: "POST", body });
  await Promise.all(cuts.map((body) => refused(send(body), ...BAD)));
});

it.each(BODY_ROUTES)("refuses a body of %s that is not UTF-8, wherever it is not", async (route) => {
  const broken = [[0xff], [0xc3], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf4, 0x90, 0x80, 0x80], [0x80]];
  const [head = "", tail = ""] = (VALID[route] ?? "").split("q", 2);
  const encoder = new TextEncoder();
  for (const bytes of broken) {
    const bodies = [
      [...encoder.encode('{"queue":"a'), ...bytes, ...encoder.encode('"}')],
      [...encoder.encode(head), ...bytes, ...encoder.encode(tail)],
      [...bytes, ...encoder.encode(VALID[route])],
      [...encoder.encode(VALID[route]), ...bytes],
      bytes,
    ];
    for (const body of bodies) {
      await refused(call(`/api/v1/ephemeral/${route}`, { method: "POST", body: Uint8Array.from(body) }), ...BAD);
    }
  }
});

it("does not take UTF-16, or a payload that is not UTF-8", async () => {
  const utf16 = new Uint8Array(new Uint16Array(Array.from(VALID["push"] ?? "", (char) => char.charCodeAt(0))).buffer);
  await refused(call("/api/v1/ephemeral/push", { method: "POST", body: utf16 }), ...BAD);
  const encoder = new TextEncoder();
  const payload = [...encoder.encode('{"queue":"q","messages":[{"payload":"'), 0xff, ...encoder.encode('"}]}')];
  await refused(call("/api/v1/ephemeral/push", { method: "POST", body: Uint8Array.from(payload) }), ...BAD);
});

it.each(BODY_ROUTES)("refuses a body of %s with no queue, or one that is not a text", async (route) => {
  const rest = '"messages":[{"payload":1}],"acks":[{"id":"x"}]';
  expect(await refused(post(route, `{${rest}}`), ...BAD)).toMatch(/\bqueue\b/);
  for (const value of WRONG_TYPES) {
    const body = `{"queue":${value},${rest}}`;
    expect((await refused(post(route, body), ...BAD)).length).toBeLessThan(1000);
  }
});

it("refuses a push whose partition or messages are of a wrong type, naming them", async () => {
  const messages = '"messages":[{"payload":1}]';
  for (const value of WRONG_TYPES) {
    if (value !== "null") {
      const error = await refused(post("push", `{"queue":"q","partition":${value},${messages}}`), ...BAD);
      expect(error).toContain("partition");
    }
    const wrong =
      value.startsWith("[") && value !== DEEP ? `${value.slice(0, -1)}${value === "[]" ? "" : ","}1]` : value;
    expect(await refused(post("push", `{"queue":"q","messages":${wrong}}`), ...BAD)).toContain("messages");
  }
  expect(await refused(post("push", '{"queue":"q"}'), ...BAD)).toContain("messages");
});

it("refuses an ack whose group or acks are of a wrong type, naming them", async () => {
  for (const value of ["1", "true", "[]", "{}", '""']) {
    expect(await refused(post("ack", `{"queue":"q","group":${value},"acks":[]}`), ...BAD)).toContain("group");
  }
  for (const value of ["1", "true", "null", "{}", '"x"', '{"0":{"id":"x"}}']) {
    expect(await refused(post("ack", `{"queue":"q","acks":${value}}`), ...BAD)).toContain("acks");
  }
  expect(await refused(post("ack", '{"queue":"q"}'), ...BAD)).toContain("acks");
  for (const entry of ["1", "null", '"e:1:p:0"', "[]", "{}", '{"id":1}', '{"id":null}', '{"id":{}}', '{"ID":"x"}']) {
    const error = await refused(post("ack", `{"queue":"q","acks":[{"id":"x"},${entry}]}`), ...BAD);
    expect(error).toContain("acks[1]");
  }
});

it("refuses 10,001 acks", async () => {
  const acks = Array.from({ length: 10_001 }, () => ({ id: "x" }));
  expect(await refused(post("ack", { queue: "q", acks }), ...BAD)).toMatch(/acks.*10001.*10000/);
});

it("refuses 10,001 messages, whatever else is wrong with them", async () => {
  const messages = Array.from({ length: 10_001 }, () => ({ payload: 1 }));
  expect(await refused(post("push", { queue: "q", messages }), ...BAD)).toMatch(/messages.*10001.*10000/);
  const many = `{"queue":"q","messages":[${"0,".repeat(2_000_000)}0]}`;
  await refused(post("push", many), ...BAD);
});

it.each(["ack", "configure", "reset"])("refuses hostile nesting in any place of a body of %s", async (route) => {
  const open = (VALID[route] ?? "").slice(0, -1);
  for (const deep of [DEEP, DEEP_OBJECT]) {
    await refused(post(route, `{"queue":${deep}}`), ...BAD);
    await refused(
      post(route, `{"queue":"q","acks":${deep},"options":${deep}${route === "reset" ? ',"queue":1' : ""}}`),
      ...BAD,
    );
    await refused(
      post(route, `${open},"acks":[{"id":${deep}}],"options":{"maxLength":${deep}},"queue":${deep}}`),
      ...BAD,
    );
  }
});

it("takes hostile nesting in a key for what it is", async () => {
  const key = JSON.stringify("[{".repeat(100_000));
  await refused(post("push", `{${key}:1,"queue":"","messages":[{"payload":1}]}`), ...BAD);
  await refused(post("configure", `{"queue":"q","options":{${key}:1}}`), ...BAD);
});
