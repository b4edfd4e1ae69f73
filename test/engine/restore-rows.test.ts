import { expect, it } from "vitest";
import { MAX_GROUPS, MAX_NAME_BYTES } from "../../src/contract/limits.ts";
import { owed } from "./described.ts";
import { Restarts } from "./restarts.ts";

/** Tests that fill a disk take their time on a busy machine. */
const SLOW = { timeout: 30_000 };
const MIB = 1024 * 1024;
const LARGE = { queueMaxBytes: 64 * MIB, queueMaxLength: 100_000 };

function texts(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${from + i}`);
}

/** What a group is owed in partition `p` of queue `q`, unless told otherwise: payloads and attempts. */
function owedTo(owner: Restarts, group: string, { queue = "q", partition = "p" } = {}): [string, number][] {
  const cursor = owner.engine.queues.get(queue)?.rings.get(partition)?.cursors.get(group);
  return cursor === undefined ? [] : owed(cursor);
}

function held(owner: Restarts, { queue = "q", partition = "p" } = {}): string[] {
  const messages = owner.engine.queues.get(queue)?.rings.get(partition)?.messages ?? [];
  return Array.from(messages, ({ payload }) => payload);
}

/** A name as long as names may be, that is different for each number. */
function longName(n: number, character = "x"): string {
  const end = `-${n}`;
  const bytes = new TextEncoder().encode(character).length;
  return character.repeat(Math.floor((MAX_NAME_BYTES - end.length) / bytes)) + end;
}

it.each([
  ["plain", "x"],
  ["Latin", "ÿ"],
  ["wide", "€"],
  ["astral", "😀"],
])("a %s payload that is larger than a row comes back as it was, from several", SLOW, (_, character) => {
  const owner = new Restarts(LARGE);
  // One code unit more in front, so that a cut falls into the middle of a pair.
  const large = JSON.stringify(`a${character.repeat((3 * MIB) / character.length)}`);
  owner.push(["1", large, "2"]);
  owner.push([large], { partition: "other" });
  owner.checkpoint();
  owner.crash();
  expect(held(owner)).toEqual(["1", large, "2"]);
  const before = owner.disk.rowsWritten;
  expect(owner.pop({ batch: 1, autoAck: true })).toHaveLength(1);
  owner.checkpoint();
  expect(owner.disk.rowsWritten - before, "what was written is not written again").toBe(1);
  owner.crash();
  expect(held(owner)).toEqual([large, "2"]);
  owner.drain();
  owner.checkpoint();
  owner.crash();
  expect([...owner.engine.queues.keys()]).toEqual([]);
});

it("10,000 partitions with a message each, and names as long as they may be", SLOW, () => {
  const owner = new Restarts(LARGE);
  const queue = longName(0);
  const partitions = Array.from({ length: 10_000 }, (_, n) => longName(n));
  for (const partition of partitions) owner.push([`"${partition}"`], { queue, partition });
  owner.pop({ queue, partition: partitions[0] ?? "", group: "g", batch: 1 });
  owner.checkpoint();
  owner.crash();
  for (const partition of partitions) expect(held(owner, { queue, partition })).toEqual([`"${partition}"`]);
  expect(owedTo(owner, "g", { queue, partition: partitions[0] ?? "" })).toEqual([[`"${partitions[0]}"`, 2]]);
});

it("30,000 partitions with a short message each fit into rows", SLOW, () => {
  const owner = new Restarts(LARGE);
  for (let n = 0; n < 30_000; n++) owner.push([`${n}`], { partition: `p${n}` });
  owner.checkpoint();
  owner.crash();
  expect(owner.engine.queues.get("q")?.length).toBe(30_000);
});

it.each([
  ["plain", "x"],
  ["wide", "€"],
])("as many groups as there may be, with the longest names (%s)", SLOW, (_, character) => {
  const owner = new Restarts(LARGE);
  owner.push(["1", "2"]);
  const groups = Array.from({ length: MAX_GROUPS }, (__, n) => longName(n, character));
  for (const group of groups) owner.pop({ group, batch: 1 });
  owner.checkpoint();
  owner.crash();
  for (const group of [groups[0] ?? "", groups.at(-1) ?? ""]) {
    expect(owedTo(owner, group)).toEqual([
      ["1", 2],
      ["2", 1],
    ]);
  }
});

it("deliveries of many groups that are out are written, however many rows they take", SLOW, () => {
  const owner = new Restarts(LARGE);
  owner.push(texts(0, 10_000));
  for (let n = 0; n < 15; n++) owner.pop({ group: `g${n}` });
  owner.checkpoint();
  owner.crash();
  for (let n = 0; n < 15; n++) expect(owedTo(owner, `g${n}`)).toEqual(texts(0, 10_000).map((text) => [text, 2]));
});

it("what was settled does not come back from a row that lives on for another message", () => {
  const owner = new Restarts();
  owner.push(["1"], { partition: "kept" });
  owner.push(texts(2, 50));
  owner.checkpoint();
  owner.ack(owner.pop());
  owner.checkpoint();
  owner.crash();
  expect(held(owner)).toEqual([]);
  // New messages under the numbers of the old would bring these back at the next start.
  owner.push(["100"]);
  owner.checkpoint();
  owner.crash();
  expect(held(owner)).toEqual(["100"]);
  expect(held(owner, { partition: "kept" })).toEqual(["1"]);
});

it("what was settled between others does not come back, for a group that comes later either", () => {
  const owner = new Restarts();
  owner.push(texts(1, 4));
  const [, second, third] = owner.pop({ group: "g" });
  if (second === undefined || third === undefined) throw new Error("nothing to pop");
  owner.checkpoint();
  owner.ack([second, third], { group: "g" });
  owner.pop({ group: "late", batch: 1 });
  owner.checkpoint();
  owner.crash();
  expect(held(owner)).toEqual(["1", "4"]);
  expect(owedTo(owner, "late").map(([text]) => text)).toEqual(["1", "4"]);
  // With the last group gone, all that is held is kept: not more.
  owner.engine.dropGroup("q", "g");
  owner.engine.dropGroup("q", "late");
  owner.checkpoint();
  owner.crash();
  expect(held(owner)).toEqual(["1", "4"]);
});

it("rows that nobody needs are used again", () => {
  const owner = new Restarts();
  for (let round = 0; round < 50; round++) {
    owner.push(texts(round * 10, 10));
    owner.checkpoint();
    owner.ack(owner.pop());
    owner.checkpoint();
    if (round % 7 === 0) owner.crash();
  }
  owner.disk.sync();
  expect(owner.disk.rows.size).toBeLessThanOrEqual(3);
  owner.push(["1000"]);
  owner.checkpoint();
  owner.crash();
  expect(held(owner)).toEqual(["1000"]);
});

it("a queue that was deleted stays away, and one of the same name starts anew", () => {
  const owner = new Restarts();
  owner.push(["0"], { queue: "other" });
  owner.push(texts(1, 3));
  owner.pop({ group: "g", batch: 2 });
  owner.checkpoint();
  owner.engine.remove("q");
  owner.checkpoint();
  owner.crash();
  expect([...owner.engine.queues.keys()]).toEqual(["other"]);
  owner.push(["9"]);
  owner.checkpoint();
  owner.crash();
  expect(held(owner)).toEqual(["9"]);
  expect(owedTo(owner, "g")).toEqual([]);
});

it("a reset stays one: groups and options are back, messages are not", () => {
  const owner = new Restarts();
  owner.engine.configure("q", { maxLength: 7 });
  owner.push(["0"], { queue: "other" });
  owner.push(texts(1, 3));
  owner.pop({ group: "g", batch: 2 });
  owner.checkpoint();
  owner.engine.reset("q");
  owner.checkpoint();
  owner.crash();
  expect(held(owner)).toEqual([]);
  expect(owner.engine.queues.get("q")?.options.maxLength).toBe(7);
  owner.push(["9"]);
  expect(owedTo(owner, "g")).toEqual([["9", 1]]);
});

it("other options are news, the same again are not", () => {
  const owner = new Restarts();
  owner.engine.configure("q", { ttlSeconds: 5 });
  owner.push(["1"]);
  owner.checkpoint();
  owner.engine.configure("q", { ttlSeconds: 5 });
  expect(owner.engine.ledger.isClean).toBe(true);
  owner.engine.configure("q", { ttlSeconds: 0 });
  expect(owner.engine.ledger.isClean).toBe(false);
});

it("a restart gives no message up, however often it was delivered", () => {
  const owner = new Restarts({ retryLimit: 2 });
  owner.push(["1"]);
  for (let attempts = 1; attempts <= 4; attempts++) {
    expect(owner.pop()).toMatchObject([{ payload: 1, attempts }]);
    owner.checkpoint();
    owner.crash();
  }
  expect(owner.engine.counters.dropped.retry).toBe(0);
});

it("a redelivery that was given back uncounted is not counted by a restart", () => {
  const owner = new Restarts();
  owner.push(["1"]);
  const [first] = owner.pop({ group: "g" });
  expect(first?.attempts).toBe(1);
  owner.engine.release("q", "g", [{ partition: "p", seqs: [0], attempts: [1] }]);
  owner.checkpoint();
  owner.crash();
  expect(owedTo(owner, "g")).toEqual([["1", 1]]);
});

it("ids of an earlier life are stale", () => {
  const owner = new Restarts();
  owner.push(["1"]);
  const [first] = owner.pop();
  owner.checkpoint();
  owner.crash();
  expect(owner.engine.ack("q", "__QUEUE_MODE__", [{ id: first?.id ?? "", status: "completed" }])).toEqual(["stale"]);
});

it("age and idleness count the time between two lives", () => {
  const owner = new Restarts({ implicitIdleMs: 60_000 });
  owner.engine.configure("aged", { ttlSeconds: 10 });
  owner.push(["1"], { queue: "aged" });
  owner.pop({ queue: "idle", group: "g" });
  expect(owner.sleep(9000)).toBe(true);
  owner.engine.advance(owner.now);
  expect(held(owner, { queue: "aged" })).toEqual(["1"]);
  expect(owner.sleep(51_000)).toBe(true);
  owner.engine.advance(owner.now);
  expect([...owner.engine.queues.keys()]).toEqual(["aged"]);
  expect(owner.engine.queues.get("aged")?.drops.ttl).toBe(1);
});

it("after an unclean end a group counts as there: nobody knows who popped last", () => {
  const owner = new Restarts({ groupIdleSeconds: 60 });
  owner.push(["1"]);
  owner.pop({ group: "g", autoAck: true });
  owner.pop({ group: "other" });
  owner.checkpoint();
  owner.crash({ downMs: 61_000 });
  owner.engine.advance(owner.now);
  expect([...(owner.engine.queues.get("q")?.groups.keys() ?? [])]).toEqual(["g", "other"]);
  owner.engine.advance(owner.now + 60_000);
  expect([...(owner.engine.queues.get("q")?.groups.keys() ?? [])]).toEqual([]);
});

it("each end without a sleep is counted once", () => {
  const owner = new Restarts();
  expect(owner.lastLife).toEqual({ wasOpen: false, lastCheckpointAt: null });
  owner.now = 1000;
  owner.push(["1"]);
  owner.checkpoint();
  owner.now = 1500;
  owner.crash();
  expect(owner.lastLife).toEqual({ wasOpen: true, lastCheckpointAt: 1000 });
  expect(owner.journal.wipes).toBe(1);
  owner.checkpoint();
  expect(owner.sleep()).toBe(true);
  expect(owner.journal.wipes).toBe(1);
});

it("an implicit queue goes by the settings of the life that it comes back in", () => {
  const owner = new Restarts();
  owner.push(["1"]);
  owner.engine.configure("declared", { maxLength: 7 });
  owner.checkpoint();
  owner.settings.queueMaxLength = 20_000;
  owner.restart();
  expect(owner.engine.queues.get("q")?.options.maxLength).toBe(20_000);
  expect(owner.engine.queues.get("declared")?.options.maxLength).toBe(7);
});
