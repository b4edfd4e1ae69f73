import { expect, it } from "vitest";
import { exportRing } from "../../src/engine/adopt.ts";
import type { EjectPlace } from "../../src/engine/moments.ts";
import { Bench } from "./harness.ts";

const SELF = 3;
/** Room for two small messages. */
const TWO = 410;

function importInto(bench: Bench, count: number, source = "file") {
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  return bench.engine.import("q", "p", source, numbers, numbers.map(String));
}

function ringOf(bench: Bench) {
  const ring = bench.engine.queues.get("q")?.rings.get("p");
  if (ring === undefined) throw new Error("there is no partition");
  return ring;
}

function begin(bench: Bench, ejectId = "e"): EjectPlace {
  const [begun] = bench.engine.moments.begin(ringOf(bench).queue, ejectId, SELF) ?? [];
  if (begun === undefined) throw new Error("no moment was begun");
  return begun.place;
}

function page(bench: Bench, place: EjectPlace | null, self = SELF, maxBytes = 1_000_000) {
  if (place === null) throw new Error("there is no more");
  const { items, ...rest } = bench.engine.moments.page(bench.engine.queues.get("q"), "p", place, maxBytes, self);
  return { ...rest, payloads: items.map((item) => (JSON.parse(item) as { payload: unknown }).payload) };
}

it("what was imported is known on the owner that a partition moves to", () => {
  const before = new Bench();
  importInto(before, 3);
  const after = new Bench();
  after.engine.adopt("q", exportRing(ringOf(before)));
  expect(importInto(after, 5)).toEqual({ imported: 2, repeated: 3 });
  expect(after.length()).toBe(5);
});

it("two parts of a partition are joined with what either knows of imports", () => {
  const [older, newer] = [new Bench(), new Bench()];
  importInto(older, 3);
  importInto(older, 4, "other");
  importInto(newer, 2);
  newer.engine.adopt("q", exportRing(ringOf(older)));
  expect(importInto(newer, 4)).toEqual({ imported: 1, repeated: 3 });
  expect(importInto(newer, 4, "other")).toEqual({ imported: 0, repeated: 4 });
});

it("an import that is refused may be repeated whole", () => {
  const bench = new Bench();
  bench.engine.configure("q", { maxLength: 2 });
  expect(importInto(bench, 3)).toMatchObject({ code: "queue_full" });
  bench.engine.configure("q", { maxLength: 3 });
  expect(importInto(bench, 3)).toEqual({ imported: 3, repeated: 0 });
});

it("a moment that was not read for a minute is lost, and its eject goes on with what is left", () => {
  const bench = new Bench();
  bench.at(1);
  bench.push([0, 1, 2, 3, 4]);
  const first = page(bench, begin(bench), SELF, TWO);
  expect(first).toMatchObject({ payloads: [0, 1], isRestarted: false });
  bench.pop({ batch: 3, autoAck: true });
  bench.push(["later"]);
  bench.at(60.9);
  expect(page(bench, first.next, SELF, TWO)).toMatchObject({ payloads: [2, 3], isRestarted: false });
  bench.at(121);
  expect(page(bench, first.next)).toMatchObject({ payloads: [3, 4], next: null, isRestarted: true });
});

it("an eject goes on where its partition has moved to, and leaves out what it cannot tell apart", () => {
  const [before, after] = [new Bench(), new Bench()];
  for (const seconds of [1, 2, 3, 4]) {
    before.at(seconds);
    before.push([seconds]);
  }
  before.push([4.5, 4.7]);
  const { next } = page(before, begin(before), SELF, TWO);
  after.at(5);
  for (let n = 0; n < 50; n++) after.push(["elsewhere"], { partition: "other" });
  after.engine.adopt("q", exportRing(ringOf(before)));
  after.push(["later"]);
  const second = page(after, next, SELF + 1, TWO);
  expect(second).toMatchObject({ payloads: [3, 4], isRestarted: true });
  // From here on the numbers are those of the new owner, and nothing is left out.
  expect(page(after, second.next, SELF + 1)).toMatchObject({ payloads: [4.5, 4.7], next: null });
  const { next: within } = page(before, begin(before, "f"), SELF, 2 * TWO);
  expect(page(after, within, SELF + 1)).toMatchObject({ payloads: [], next: null });
});
