import { expect, it } from "vitest";
import {
  ackOne,
  call,
  configure,
  depth,
  depthPath,
  dropGroup,
  list,
  listed,
  owners,
  pop,
  popOne,
  popPath,
  post,
  push,
  refused,
  remove,
  reset,
} from "./support.ts";

const BAD = [400, "ephemeral_bad_request"] as const;

/** 512 bytes of UTF-8, and not a byte more. */
const LONGEST = ["x".repeat(512), "é".repeat(256), "漢".repeat(170) + "ab", "😀".repeat(128)];

const LEGAL = [
  " ",
  " padded ",
  "a b\u00a0c",
  "a/b",
  "/",
  "//",
  ":",
  "e:12:3",
  "a?b#c&d=e+f%41",
  "\\\"'`{}[]",
  "queue",
  "QUEUE",
  "Default",
  "__QUEUE_MODE__x",
  "__proto__",
  "constructor",
  "null",
  "é",
  "e\u0301",
  "漢字",
  "😀👩‍👩‍👧",
  "\u007f\u0080",
  "\u2028\ufeff",
  ...LONGEST,
];

it.each(LEGAL)("takes the name %j for a queue, a partition and a group, everywhere", async (name) => {
  await configure(name, { maxLength: 3 });
  expect(await listed(name)).toMatchObject({ queue: name, tier: "declared" });
  await push(name, ["x", "y"], name);
  const message = await popOne(name, { partition: name, group: name });
  expect(message).toMatchObject({ partition: name, payload: "x" });
  expect(await ackOne(name, { id: message.id, status: "retry" }, name)).toBe("redelivered");
  expect((await popOne(name, { group: name })).id).toBe(message.id);
  expect(await depth(name, name)).toMatchObject({
    queue: name,
    group: name,
    pending: 1,
    partitions: [{ partition: name, pending: 1 }],
    groups: [{ group: name, pending: 1 }],
  });
  expect((await owners(name)).flatMap(({ partitions }) => partitions)).toEqual([name]);
  expect(await dropGroup(name, name)).toEqual({ queue: name, group: name, deleted: true });
  expect(await reset(name)).toEqual({ queue: name, dropped: 2 });
  expect(await remove(name)).toEqual({ queue: name, deleted: true, declared: true });
});

it("trims nothing, folds no case and normalises nothing", async () => {
  const names = ["n", " n", "n ", "N", "n\u0301", "ń", "n\u200b", "n/"];
  for (const name of names) await push(name, [name], name);
  for (const name of names) {
    expect(await listed(name)).toMatchObject({ depth: 1, partitions: 1 });
    await push("one queue", [name], name);
    await pop("one queue", { group: name, partition: name });
  }
  expect(await listed("one queue")).toMatchObject({ partitions: names.length, groups: names.length });
  for (const name of names) expect(await popOne(name, { partition: name })).toMatchObject({ payload: name });
});

const ILLEGAL: [string, string][] = [
  ["empty", ""],
  ["of 513 bytes", "x".repeat(513)],
  ["of 514 bytes in 257 characters", "é".repeat(257)],
  ["of 513 bytes in 171 characters", "漢".repeat(171)],
  ["of a million bytes", "x".repeat(1_000_000)],
  ["a NUL", "\u0000"],
  ["with a tab", "a\tb"],
  ["with a line feed", "a\nb"],
  ["with a unit separator", "a\u001f"],
  ["with a lone high surrogate", "a\ud800"],
  ["with a lone low surrogate", "\udc00b"],
  ["with surrogates the wrong way round", "\udc00\ud800"],
];

it.each(ILLEGAL)("refuses a name in a body that is %s, naming the field", async (_, name) => {
  const before = await list();
  const messages = [{ payload: 1 }];
  expect(await refused(post("push", { queue: name, messages }), ...BAD)).toMatch(/\bqueue\b/);
  expect(await refused(post("push", { queue: "q", partition: name, messages }), ...BAD)).toMatch(/\bpartition\b/);
  expect(await refused(post("ack", { queue: name, acks: [] }), ...BAD)).toMatch(/\bqueue\b/);
  expect(await refused(post("ack", { queue: "q", group: name, acks: [] }), ...BAD)).toMatch(/\bgroup\b/);
  expect(await refused(post("configure", { queue: name }), ...BAD)).toMatch(/\bqueue\b/);
  expect(await refused(post("reset", { queue: name }), ...BAD)).toMatch(/\bqueue\b/);
  expect(await list()).toEqual(before);
});

/** Percent-encoding of any text: what `encodeURIComponent` refuses, too. */
function encoded(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : text.replaceAll(/[\ud800-\udfff]/g, "%ED%A0%80");
}

// In a query, an empty partition or group is as good as none; an empty queue has tests of its own.
it.each(ILLEGAL.filter(([, name]) => name !== "" && name.length < 10_000))(
  "refuses a name in a query or a path that is %s, naming the field",
  async (_, name) => {
    const before = await list();
    const text = encoded(name);
    expect(await refused(call(`/api/v1/ephemeral/pop?queue=${text}`), ...BAD)).toContain("queue");
    expect(await refused(call(`/api/v1/ephemeral/pop?queue=q&partition=${text}`), ...BAD)).toContain("partition");
    expect(await refused(call(`/api/v1/ephemeral/pop?queue=q&group=${text}`), ...BAD)).toContain("group");
    expect(await refused(call(`/api/v1/ephemeral/queues/q/depth?group=${text}`), ...BAD)).toContain("group");
    expect(await refused(call(`/api/v1/system/owners?queue=${text}`), ...BAD)).toContain("queue");
    const deleted = { method: "DELETE" };
    expect(await refused(call(`/api/v1/ephemeral/queue/${text}`, deleted), ...BAD)).toContain("queue");
    expect(await refused(call(`/api/v1/ephemeral/queues/${text}/depth`), ...BAD)).toContain("queue");
    expect(await refused(call(`/api/v1/ephemeral/queues/${text}/groups/g`, deleted), ...BAD)).toContain("queue");
    expect(await refused(call(`/api/v1/ephemeral/queues/q/groups/${text}`, deleted), ...BAD)).toContain("group");
    expect(await list()).toEqual(before);
  },
);

it("reads a plus of a query as a space, and a plus of a path as a plus", async () => {
  await push("a b", [1]);
  await push("a+b", [2]);
  expect(await (await call("/api/v1/ephemeral/pop?queue=a+b")).text()).toContain('"queue":"a b"');
  expect(await (await call("/api/v1/ephemeral/pop?queue=a%2Bb")).text()).toContain('"queue":"a+b"');
  expect(await (await call("/api/v1/ephemeral/queues/a+b/depth")).text()).toContain('"queue":"a+b"');
  expect(await (await call("/api/v1/ephemeral/queues/a%20b/depth")).text()).toContain('"queue":"a b"');
});

it.each(["%", "%4", "%zz", "%C3", "%C3%28", "%FF", "%C0%AF", "%F8%88%80%80%80", "%ED%B0%80", "%F4%90%80%80"])(
  "refuses the broken escape %j",
  async (escape) => {
    for (const query of [`queue=${escape}`, `queue=q&partition=a${escape}`, `queue=q&group=${escape}`]) {
      await refused(call(`/api/v1/ephemeral/pop?${query}`), ...BAD);
    }
    await refused(call(`/api/v1/ephemeral/queue/${escape}`, { method: "DELETE" }), ...BAD);
    await refused(call(`/api/v1/ephemeral/queues/${escape}/depth`), ...BAD);
    await refused(call(`/api/v1/ephemeral/queues/q/groups/${escape}`, { method: "DELETE" }), ...BAD);
    expect(await listed("q")).toBeUndefined();
  },
);

it("needs a queue in the query of a pop", async () => {
  expect(await refused(call("/api/v1/ephemeral/pop"), ...BAD)).toContain("queue");
  expect(await refused(call("/api/v1/ephemeral/pop?queue="), ...BAD)).toContain("queue");
  expect(await refused(call("/api/v1/ephemeral/pop?queue&partition=p"), ...BAD)).toContain("queue");
});

// No existing route may answer a 404 of its own: clients would take the broker for too old.
it.each([
  ["DELETE", "/api/v1/ephemeral/queue/", "queue"],
  ["GET", "/api/v1/ephemeral/queues//depth", "queue"],
  ["DELETE", "/api/v1/ephemeral/queues//groups/g", "queue"],
  ["DELETE", "/api/v1/ephemeral/queues/q/groups/", "group"],
])("refuses the empty name in %s %s, naming the field", async (method, path, field) => {
  expect(await refused(call(path, { method }), ...BAD)).toContain(field);
});

it("lets a queue, a partition and a group of one name be three things", async () => {
  const name = "same";
  await push(name, [1], name);
  expect(await call(popPath(name, { partition: name, group: name }))).toMatchObject({ status: 200 });
  expect(await call(depthPath("other"))).toMatchObject({ status: 404 });
});
