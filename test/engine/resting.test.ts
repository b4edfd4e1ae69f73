import { expect, it } from "vitest";
import { isRefusal } from "../../src/contract/errors.ts";
import { Restarts } from "./restarts.ts";

function resting(owner: Restarts, queue = "q"): string[] {
  return Array.from(owner.engine.queues.get(queue)?.rings.resting ?? [], ({ state }) => state.partition).sort();
}

/** An owner that has come back with two messages in each of two partitions. */
function restarted(settings: ConstructorParameters<typeof Restarts>[0] = {}): Restarts {
  const owner = new Restarts(settings);
  for (const partition of ["a", "b"]) owner.push([`"${partition}1"`, `"${partition}2"`], { partition });
  owner.pop({ partition: "a", group: "g", batch: 1 });
  owner.checkpoint();
  owner.crash();
  return owner;
}

const payloads = (messages: { payload: unknown }[]) => messages.map(({ payload }) => payload);

it("a partition rests until somebody asks for it, and for it alone", () => {
  const owner = restarted();
  expect(resting(owner)).toEqual(["a", "b"]);
  expect(payloads(owner.pop({ partition: "b", group: "g" }))).toEqual(["b1", "b2"]);
  expect(resting(owner)).toEqual(["a"]);
  expect(owner.pop({ partition: "a", group: "g" }).map(({ payload, attempts }) => [payload, attempts])).toEqual([
    ["a1", 2],
    ["a2", 1],
  ]);
});

it("a pop of any partition finds what rests", () => {
  const owner = restarted();
  expect(payloads(owner.pop({ partition: null, group: "g" })).sort()).toEqual(["a1", "a2", "b1", "b2"]);
});

it("what rests counts against the bounds of its queue, and a push that is refused wakes nothing", () => {
  const owner = restarted({ queueMaxLength: 5 });
  expect(owner.engine.push("q", "a", ["1", "2"], true)).toMatchObject({ code: "queue_full" });
  expect(resting(owner)).toEqual(["a", "b"]);
  expect(isRefusal(owner.engine.push("q", "a", ["1"], true))).toBe(false);
  expect(resting(owner)).toEqual(["b"]);
  expect(owner.engine.queues.get("q")?.length).toBe(5);
});

it("what rests survives the next crash too, and is not written again", () => {
  const owner = restarted();
  owner.push(["3"], { partition: "c" });
  const before = owner.disk.rowsWritten;
  owner.checkpoint();
  expect(owner.disk.rowsWritten - before).toBe(1);
  owner.crash();
  owner.checkpoint();
  owner.crash();
  expect(resting(owner)).toEqual(["a", "b", "c"]);
  owner.drain();
});

it("age wakes what rests, and counts it", () => {
  const owner = new Restarts();
  owner.engine.configure("q", { ttlSeconds: 10 });
  owner.push(["1"]);
  owner.checkpoint();
  owner.crash({ downMs: 4000 });
  expect(owner.engine.nextDueAt).toBe(10_000);
  owner.engine.advance(9999);
  expect(resting(owner)).toEqual(["p"]);
  owner.engine.advance(10_000);
  expect(owner.engine.queues.get("q")).toMatchObject({ length: 0, bytes: 0, stored: 0, drops: { ttl: 1 } });
});

it("a group that pops no more does not pin what rests", () => {
  const owner = new Restarts({ groupIdleSeconds: 60 });
  owner.push(["1"]);
  owner.pop({ group: "g", autoAck: true, batch: 1 });
  owner.push(["2"]);
  owner.checkpoint();
  owner.crash({ downMs: 1000 });
  owner.engine.advance(owner.now + 59_999);
  expect(resting(owner)).toEqual(["p"]);
  owner.engine.advance(owner.now + 60_000);
  expect(owner.engine.queues.get("q")?.groups.size).toBe(0);
  expect(owner.engine.counters.groupIdleOwed).toBe(1);
});

it("an empty partition does not rest", () => {
  const owner = new Restarts();
  owner.push(["1"], { partition: "full" });
  owner.push(["2"], { partition: "empty" });
  owner.ack(owner.pop({ partition: "empty" }));
  owner.checkpoint();
  owner.crash();
  expect(resting(owner)).toEqual(["full"]);
});

it("a row is free again once what rested in it is settled", () => {
  const owner = new Restarts();
  const partitions = Array.from({ length: 10 }, (_, n) => `p${n}`);
  for (const partition of partitions) {
    owner.push([`"${partition}"`], { partition });
    owner.checkpoint();
  }
  owner.crash();
  for (const partition of partitions) owner.ack(owner.pop({ partition }));
  owner.checkpoint();
  owner.disk.sync();
  const last = [...owner.disk.rows.values()].reduce((a, b) => (a.number > b.number ? a : b));
  expect(last.head?.live).toHaveLength(1);
});
