import { expect, it } from "vitest";
import {
  ack,
  ackOne,
  call,
  configure,
  depth,
  freshQueue,
  listed,
  partitionAway,
  partitionsAway,
  pop,
  popOne,
  popPayloads,
  post,
  push,
  read,
} from "./support.ts";

it.each([undefined, null, "completed", "success", "acked", "ok"])("settles for good with status %j", async (status) => {
  const queue = freshQueue();
  await push(queue, [1], partitionAway(queue));
  const { id } = await popOne(queue);
  const entry = status === undefined ? { id } : { id, status };
  expect(await ackOne(queue, entry)).toBe("acked");
  expect(await listed(queue)).toMatchObject({ depth: 0, drops: { retry: 0 } });
});

it.each(["retry", "failed", "COMPLETED", "Ok", "", "done", "rejected"])(
  "hands over again with status %j",
  async (status) => {
    const queue = freshQueue();
    await push(queue, ["x"], partitionAway(queue));
    const { id } = await popOne(queue);
    expect(await ackOne(queue, { id, status })).toBe("redelivered");
    expect(await popOne(queue)).toMatchObject({ id, attempts: 2, payload: "x" });
  },
);

it.each(["retry", "failed"])("answers acked for the %s of the last attempt, and counts the drop", async (status) => {
  const queue = freshQueue();
  await configure(queue, { retryLimit: 2 });
  await push(queue, [1]);
  const { id } = await popOne(queue);
  expect(await ackOne(queue, { id, status })).toBe("redelivered");
  expect((await popOne(queue)).attempts).toBe(2);
  expect(await ackOne(queue, { id, status })).toBe("acked");
  expect(await listed(queue)).toMatchObject({ depth: 0, drops: { bounds: 0, ttl: 0, retry: 1 } });
  expect(await pop(queue)).toEqual([]);
});

it.each([
  ["by default", undefined, 5],
  ["with a limit of 1", 1, 1],
  ["with a limit of 0, which acts as 1,", 0, 1],
  ["with a limit of 3", 3, 3],
])("%s gives a message up after its last delivery", async (_, retryLimit, deliveries) => {
  const queue = freshQueue();
  if (retryLimit !== undefined) await configure(queue, { retryLimit });
  await push(queue, [1]);
  for (let attempt = 1; attempt <= deliveries; attempt++) {
    const { id, attempts } = await popOne(queue);
    expect(attempts).toBe(attempt);
    expect(await ackOne(queue, { id, status: "failed" })).toBe(attempt === deliveries ? "acked" : "redelivered");
  }
  expect(await pop(queue)).toEqual([]);
  expect((await listed(queue))?.drops.retry).toBe(1);
});

it("answers unknown for a second ack, whatever it says", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const { id } = await popOne(queue);
  expect(await ack(queue, [{ id }, { id }, { id, status: "retry" }])).toEqual(["acked", "unknown", "unknown"]);
  expect(await ackOne(queue, { id })).toBe("unknown");
  expect(await pop(queue)).toEqual([]);
});

it("answers unknown for an ack after a retry or a failure, until the message was handed out again", async () => {
  const queue = freshQueue();
  await push(queue, [1, 2]);
  const [first, second] = await pop(queue, { batch: 2 });
  const ids = [first?.id ?? "", second?.id ?? ""] as const;
  expect(
    await ack(queue, [
      { id: ids[0], status: "retry" },
      { id: ids[1], status: "failed" },
    ]),
  ).toEqual(["redelivered", "redelivered"]);
  expect(await ack(queue, [{ id: ids[0] }, { id: ids[1] }])).toEqual(["unknown", "unknown"]);
  expect(await popPayloads(queue, { batch: 2 })).toEqual([1, 2]);
  expect(await ack(queue, [{ id: ids[0] }, { id: ids[1] }])).toEqual(["acked", "acked"]);
});

it("answers unknown to another group than the one of the pop", async () => {
  const queue = freshQueue();
  await push(queue, [1], partitionAway(queue));
  const { id } = await popOne(queue, { group: "a" });
  expect(await ackOne(queue, { id }, "b")).toBe("unknown");
  expect(await ackOne(queue, { id })).toBe("unknown");
  expect((await popOne(queue, { group: "b" })).id).toBe(id);
  expect(await ackOne(queue, { id }, "b")).toBe("acked");
  expect(await ackOne(queue, { id }, "a")).toBe("acked");
});

it("reads a group that is null as queue mode", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const { id } = await popOne(queue);
  expect(await read(post("ack", { queue, group: null, acks: [{ id }] }))).toEqual({
    results: [{ id, outcome: "acked" }],
  });
});

it("settles nothing with the attempts of an earlier delivery", async () => {
  const queue = freshQueue();
  await push(queue, [1], partitionAway(queue));
  const { id } = await popOne(queue);
  await ackOne(queue, { id, status: "retry" });
  expect((await popOne(queue)).attempts).toBe(2);
  for (const status of ["completed", "retry", "failed"]) {
    expect(await ackOne(queue, { id, attempts: 1, status })).toBe("unknown");
  }
  expect(await ackOne(queue, { id, attempts: 3 })).toBe("unknown");
  expect(await pop(queue)).toEqual([]);
  expect(await ackOne(queue, { id, attempts: 2 })).toBe("acked");
  expect(await listed(queue)).toMatchObject({ depth: 0 });
});

it("answers unknown for ids that are none, and for messages that were never handed out", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const { id } = await popOne(queue);
  const incarnation = id.split(":")[1] ?? "";
  const bad = ["", "x", "e:", "e:::", `e:${incarnation}`, `e:${incarnation}:Default`, `e:${incarnation}::0`];
  const never = [
    ...bad,
    `f:${incarnation}:Default:0`,
    `e:${incarnation}:Default:`,
    `e:${incarnation}:Default:-1`,
    `e:${incarnation}:Default:01`,
    `e:${incarnation}:Default:1e0`,
    `e:${incarnation}:Default:999999`,
    `e:${incarnation.toUpperCase()}X:Default:0`,
    ` ${id}`,
    `${id} `,
    "x".repeat(100_000),
    "\u0000",
    "\ud800",
  ];
  expect(
    await ack(
      queue,
      never.map((each) => ({ id: each })),
    ),
  ).toEqual(never.map(() => "unknown"));
  expect(await ackOne(queue, { id })).toBe("acked");
});

it("answers stale for the id of another incarnation", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const { id } = await popOne(queue);
  const [e, , ...rest] = id.split(":");
  const other = [e, "123456789abcdef", ...rest].join(":");
  expect(await ack(queue, [{ id: other }, { id }, { id: other, status: "retry" }])).toEqual([
    "stale",
    "acked",
    "stale",
  ]);
});

it("answers an unknown queue without an error, and does not create it", async () => {
  const [known, unknown] = [freshQueue(), freshQueue()];
  await push(known, [1]);
  const { id } = await popOne(known);
  const stale = "e:123456789abcdef:Default:0";
  const results = await ack(unknown, [{ id: stale }, { id: "x" }]);
  expect(results).toEqual(["stale", "unknown"]);
  expect(await ack(unknown, [])).toEqual([]);
  expect(await listed(unknown)).toBeUndefined();
  expect(await ackOne(known, { id })).toBe("acked");
});

it.each([":", "a:b", "a:b:7", "e:12:Default:0", " : ", "a/b:c?d=e&f", "über:😀"])(
  "settles messages of the partition %j",
  async (partition) => {
    const queue = freshQueue();
    await push(queue, [1, 2], partition);
    const [first, second] = await pop(queue, { partition, batch: 2 });
    expect(first?.id).toMatch(new RegExp(`^e:[0-9a-f]{1,16}:`));
    expect(first?.id.replace(/^e:[0-9a-f]+:/, "").replace(/:\d+$/, "")).toBe(partition);
    expect(await ack(queue, [{ id: first?.id ?? "" }, { id: second?.id ?? "", status: "retry" }])).toEqual([
      "acked",
      "redelivered",
    ]);
    expect((await popOne(queue, { partition })).payload).toBe(2);
  },
);

it("answers in the order of the entries, wherever their messages live", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 3)];
  for (const partition of partitions) await push(queue, [1, 2, 3], partition);
  const popped = await pop(queue, { batch: 12 });
  expect(popped).toHaveLength(12);
  const statuses = [undefined, "retry", "bogus"];
  const entries = popped.map(({ id }, i) => ({ id, status: statuses[i % 3] ?? null }));
  const mixed = [{ id: "bad" }, ...entries, { id: popped[0]?.id ?? "" }];
  expect(await ack(queue, mixed)).toEqual([
    "unknown",
    ...entries.map(({ status }) => (status === null ? "acked" : "redelivered")),
    "unknown",
  ]);
});

it("settles 10,000 messages of several partitions in one call", async () => {
  const queue = freshQueue();
  const partitions = ["Default", ...partitionsAway(queue, 3)];
  const payloads = Array.from({ length: 2500 }, (_, i) => i);
  await Promise.all(partitions.map((partition) => push(queue, payloads, partition)));
  const popped = await pop(queue, { batch: 10_000 });
  expect(popped).toHaveLength(10_000);
  expect(new Set(await ack(queue, popped))).toEqual(new Set(["acked"]));
  expect(await listed(queue)).toMatchObject({ depth: 0, bytes: 0 });
});

it("ignores fields that it does not know", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const { id } = await popOne(queue);
  const body = { queue, consumer: { a: [] }, acks: [{ id, partitionId: "x", error: "text", leaseId: 7 }] };
  expect(await read(post("ack", body))).toEqual({ results: [{ id, outcome: "acked" }] });
});

it("reads the error of an entry and needs none", async () => {
  const queue = freshQueue();
  await push(queue, [1]);
  const { id } = await popOne(queue);
  expect(await ackOne(queue, { id, status: "failed", error: "it broke\n" })).toBe("redelivered");
});

it("frees what it settles", async () => {
  const queue = freshQueue();
  await push(queue, ["a", "b"]);
  const popped = await pop(queue, { batch: 2 });
  expect(await listed(queue)).toMatchObject({ depth: 2, bytes: 6 });
  await ack(queue, popped.slice(1));
  expect(await listed(queue)).toMatchObject({ depth: 1, bytes: 3 });
  expect((await depth(queue)).pending).toBe(0);
  expect((await call(`/api/v1/ephemeral/queue/${queue}`, { method: "DELETE" })).status).toBe(200);
  expect(await ack(queue, popped)).toEqual(["unknown", "unknown"]);
});
