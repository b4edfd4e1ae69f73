import { expect, it } from "vitest";
import { restartedAll, timersFollowTheClock } from "./checkpoint-support.ts";
import {
  ackOne,
  call,
  configure,
  depth,
  freshQueue,
  partitionsAway,
  passTime,
  pop,
  popOne,
  popPayloads,
  post,
  push,
  pushTexts,
  read,
  refused,
} from "./support.ts";

timersFollowTheClock();

interface Lying {
  id: string;
  partition: string;
  payload: unknown;
  enqueuedAtMs: number;
  attempts: number;
  groups: string[];
}

interface Begun {
  ejectId: string;
  takenAtMs: number;
  queue: string;
  tier: string;
  options: Record<string, unknown>;
  partitions: { partition: string; count: number; cursor: string }[];
}

interface Page {
  messages: Lying[];
  cursor: string | null;
  moment?: string;
}

const range = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i);
const payloads = (messages: readonly Lying[]) => messages.map(({ payload }) => payload);
const peekPath = (queue: string, query = "") => `/api/v1/ephemeral/queues/${queue}/peek${query}`;

async function peek(queue: string, query = ""): Promise<Lying[]> {
  return (await read<{ messages: Lying[] }>(call(peekPath(queue, query)))).messages;
}

function eject(queue: string): Promise<Begun> {
  return read(post("eject", { queue }));
}

function page(queue: string, cursor: string, maxBytes = 1_000_000): Promise<Page> {
  return read(post("eject/page", { queue, cursor, maxBytes }));
}

/** Everything that a moment holds, by partition; `between` happens after each page. */
async function all({ queue, partitions }: Begun, maxBytes?: number, between: () => unknown = () => {}) {
  const found = new Map<string, Lying[]>();
  for (const { partition, cursor: first } of partitions) {
    const messages: Lying[] = [];
    for (let cursor: string | null = first; cursor !== null;) {
      const answer: Page = await page(queue, cursor, maxBytes);
      messages.push(...answer.messages);
      cursor = answer.cursor;
      await between();
    }
    found.set(partition, messages);
  }
  return found;
}

function importAll(queue: string, partition: string, values: readonly unknown[], from = 1, source = "file") {
  const messages = values.map((payload, i) => ({ number: from + i, payload }));
  return read<{ imported: number; repeated: number }>(post("import", { queue, source, partition, messages }));
}

it("shows the oldest messages as they lie, and who has not settled them", async () => {
  const queue = freshQueue();
  await pop(queue, { group: "a" });
  await pop(queue, { group: "b" });
  const [here = "", there = ""] = partitionsAway(queue, 2);
  await pushTexts(queue, ["1.0", "{ }"], here);
  passTime(1);
  await push(queue, ["third"], there);
  const first = await popOne(queue, { group: "a", partition: here });
  await ackOne(queue, first, "a");
  await pop(queue, { group: "b", partition: there });
  const seen = await peek(queue);
  expect(seen.map(({ partition, payload }) => [partition, payload])).toEqual([
    [here, 1],
    [here, {}],
    [there, "third"],
  ]);
  expect(seen.map(({ groups }) => groups.toSorted())).toEqual([["b"], ["a", "b"], ["a", "b"]]);
  expect(payloads(await peek(queue, "?limit=2"))).toEqual([1, {}]);
  expect(payloads(await peek(queue, `?partition=${there}`))).toEqual(["third"]);
  expect(await peek(queue, "?partition=nowhere")).toEqual([]);
  expect(await (await call(peekPath(queue, "?limit=1"))).text()).toContain('"payload":1.0,');
  // Nothing was leased by all this.
  expect(await popPayloads(queue, { group: "b", partition: here, batch: 10 })).toEqual([1, {}]);
});

it("ejects what there was when it began, whatever happens meanwhile", async () => {
  const queue = freshQueue();
  const partitions = partitionsAway(queue, 3);
  for (const partition of partitions) await push(queue, range(20), partition);
  await pop(queue, { group: "g", partition: partitions[0] ?? "", batch: 2 });
  const begun = await eject(queue);
  expect(begun).toMatchObject({ queue, tier: "implicit" });
  expect(begun.partitions.map(({ partition, count }) => [partition, count])).toEqual(
    partitions.toSorted().map((partition) => [partition, 20]),
  );
  let round = 0;
  const found = await all(begun, 1000, async () => {
    round++;
    for (const partition of partitions) {
      await push(queue, ["later"], partition);
      await pop(queue, { group: "g", partition, batch: 3, autoAck: true });
    }
  });
  expect(round).toBeGreaterThan(6);
  for (const partition of partitions) expect(payloads(found.get(partition) ?? [])).toEqual(range(20));
  expect(found.get(partitions[0] ?? "")?.map(({ attempts }) => attempts)).toEqual([1, 1, ...range(18).map(() => 0)]);
});

it("answers the same page again", async () => {
  const queue = freshQueue();
  await push(queue, range(10));
  const [partition] = (await eject(queue)).partitions;
  const first = await page(queue, partition?.cursor ?? "", 1000);
  await read(post("remove", { queue, ids: first.messages.map(({ id }) => id) }));
  expect(await page(queue, partition?.cursor ?? "", 1000)).toEqual(first);
  expect(first.messages.length).toBeLessThan(10);
});

it("goes on with what is left when the moment was lost, and says so", async () => {
  const queue = freshQueue();
  await push(queue, range(20));
  const [partition] = (await eject(queue)).partitions;
  const first = await page(queue, partition?.cursor ?? "", 1000);
  const { length } = first.messages;
  await restartedAll();
  passTime(1);
  await push(queue, ["later"]);
  const second = await page(queue, first.cursor ?? "", 1000);
  expect(second.moment).toBe("restarted");
  const third = await page(queue, second.cursor ?? "");
  expect(third.cursor).toBeNull();
  expect(payloads([...second.messages, ...third.messages])).toEqual(range(20 - length, length));
});

it("puts an ejected queue back, byte by byte, with its options", async () => {
  const from = freshQueue();
  await configure(from, { ttlSeconds: 999, maxLength: 50 });
  await pushTexts(from, ["1.0", "12345678901234567890", '"ü"']);
  const begun = await eject(from);
  expect(begun).toMatchObject({ tier: "declared", options: { ttlSeconds: 999, maxLength: 50 } });
  const cursor = begun.partitions[0]?.cursor ?? "";
  const text = await (await post("eject/page", { queue: from, cursor })).text();
  const texts = Array.from(text.matchAll(/"payload":(.*?),"enqueuedAtMs"/g), ([, payload]) => payload);
  expect(texts).toEqual(["1.0", "12345678901234567890", '"ü"']);
  const to = freshQueue();
  await configure(to, begun.options);
  const messages = texts.map((payload, i) => `{"number":${i + 1},"payload":${payload}}`).join(",");
  const body = `{"queue":"${to}","source":"${begun.ejectId}","partition":"Default","messages":[${messages}]}`;
  expect(await read(post("import", body))).toEqual({ imported: 3, repeated: 0 });
  expect(await read(post("import", body))).toEqual({ imported: 0, repeated: 3 });
  const again = (await eject(to)).partitions[0]?.cursor ?? "";
  expect(await (await post("eject/page", { queue: to, cursor: again })).text()).toContain('"payload":1.0,');
});

it("stores nothing twice, by source and partition, even after a restart", async () => {
  const queue = freshQueue();
  const [a = "", b = ""] = partitionsAway(queue, 2);
  expect(await importAll(queue, a, range(5))).toEqual({ imported: 5, repeated: 0 });
  expect(await importAll(queue, b, range(5))).toEqual({ imported: 5, repeated: 0 });
  expect(await importAll(queue, a, range(5), 3)).toEqual({ imported: 2, repeated: 3 });
  expect(await importAll(queue, a, range(5), 1, "other")).toEqual({ imported: 5, repeated: 0 });
  await restartedAll();
  expect(await importAll(queue, a, range(7))).toEqual({ imported: 0, repeated: 7 });
  expect(await importAll(queue, b, range(6))).toEqual({ imported: 1, repeated: 5 });
  expect((await peek(queue, `?limit=100&partition=${a}`)).length).toBe(12);
});

it("remembers the sixteen sources of a partition that were used last", async () => {
  const queue = freshQueue();
  for (const n of range(17)) await importAll(queue, "Default", ["x"], 1, `file-${n}`);
  expect(await importAll(queue, "Default", ["x"], 1, "file-1")).toEqual({ imported: 0, repeated: 1 });
  expect(await importAll(queue, "Default", ["x"], 1, "file-0")).toEqual({ imported: 1, repeated: 0 });
});

it("removes messages whoever has them", async () => {
  const queue = freshQueue();
  const partitions = partitionsAway(queue, 2);
  for (const partition of partitions) await push(queue, range(6), partition);
  const [one = ""] = partitions;
  const leased = await pop(queue, { group: "g", partition: one, batch: 2 });
  await pop(queue, { group: "late", partition: one });
  const found = [...(await all(await eject(queue))).values()].flat();
  const gone = found.filter(({ payload }) => [0, 2, 3, 5].includes(payload as number)).map(({ id }) => id);
  expect(await read(post("remove", { queue, ids: [...gone, "none"] }))).toEqual({ removed: 8, unknown: 1 });
  expect(await read(post("remove", { queue, ids: gone }))).toEqual({ removed: 0, unknown: 8 });
  expect(payloads(await peek(queue, `?partition=${one}`))).toEqual([1, 4]);
  expect(await ackOne(queue, leased[0] as (typeof leased)[number], "g")).toBe("unknown");
  expect(await popPayloads(queue, { group: "g", partition: one, batch: 10 })).toEqual([4]);
  expect((await depth(queue)).partitions.map(({ partition }) => partition)).toEqual(partitions.toSorted());
});

it("refuses what it cannot do", async () => {
  const queue = freshQueue();
  await refused(post("eject", { queue }), 404, "ephemeral_queue_not_found");
  await refused(call(peekPath(queue)), 404, "ephemeral_queue_not_found");
  await refused(call(peekPath(queue, "?partition=p")), 404, "ephemeral_queue_not_found");
  expect((await call(peekPath(queue))).status).toBe(404);
  await push(queue, [1]);
  const { partitions } = await eject(queue);
  const { cursor } = partitions[0] ?? {};
  const good = { queue, source: "s", partition: "p", messages: [{ number: 1, payload: 1 }] };
  const bad: [verb: string, body: unknown][] = [
    ["eject", {}],
    ["eject/page", { queue }],
    ["eject/page", { queue, cursor: "x" }],
    ["eject/page", { queue, cursor, maxBytes: 0 }],
    ["eject/page", { queue, cursor, maxBytes: 8 * 1024 * 1024 + 1 }],
    ["import", []],
    ["import", { ...good, queue: "" }],
    ["import", { ...good, source: "" }],
    ["import", { ...good, source: "s".repeat(65) }],
    ["import", { ...good, partition: undefined }],
    ["import", { ...good, messages: [] }],
    ["import", { ...good, messages: {} }],
    ["import", { ...good, messages: [1] }],
    ["import", { ...good, messages: [{ number: 1 }] }],
    ["import", { ...good, messages: [{ payload: 1 }] }],
    ["import", { ...good, messages: [{ number: 0, payload: 1 }] }],
    ["import", { ...good, messages: [{ number: "1", payload: 1 }] }],
    ["import", { ...good, messages: [good.messages[0], good.messages[0]] }],
    ["remove", { queue }],
    ["remove", { queue, ids: [1] }],
  ];
  for (const [verb, body] of bad) await refused(post(verb, body), 400, "ephemeral_bad_request");
  expect(payloads(await peek(queue))).toEqual([1]);
  for (let n = 1; n < 4; n++) await eject(queue);
  expect(await refused(post("eject", { queue }), 503, "ephemeral_unavailable")).toContain("4 ejects");
  await page(queue, cursor ?? "");
  await eject(queue);
});
