import { expect, it } from "vitest";
import { QUEUE_MODE } from "../../src/contract/limits.ts";
import { Batch } from "../../src/engine/batch.ts";
import { Engine } from "../../src/engine/engine.ts";
import { Journal } from "../../src/objects/journal.ts";
import { delivered, Recorder, SETTINGS } from "./harness.ts";
import { FakeDisk, payloadsIn } from "./restarts.ts";

function start(disk: FakeDisk): { engine: Engine; journal: Journal } {
  const engine = new Engine({
    incarnation: "1",
    settings: { ...SETTINGS, queueMaxBytes: 100_000_000 },
    effects: new Recorder(),
    isHome: () => true,
    isHere: () => true,
    hasRoom: () => true,
  });
  const journal = new Journal(disk.storage, engine);
  journal.restore(0);
  return { engine, journal };
}

function drain(engine: Engine, partition: string): unknown[] {
  const request = { queue: "q", partition, group: QUEUE_MODE, batch: 10_000, autoAck: true, waitMs: 0, waiterId: "" };
  const batch = engine.pop(request);
  if (!(batch instanceof Batch)) throw new Error("not answered");
  return delivered(batch).map(({ payload }) => payload);
}

const liveRows = (disk: FakeDisk) =>
  [...disk.rows.values()].reduce((last, row) => (row.number > last.number ? row : last));

it("a message a window does not leave a row a window", () => {
  const disk = new FakeDisk();
  const { engine, journal } = start(disk);
  const numbers = Array.from({ length: 1500 }, (_, n) => n);
  for (const n of numbers) {
    engine.push("q", "slow", [String(n)], true);
    journal.write(n, true);
    disk.sync();
  }
  expect(liveRows(disk).head?.live.length).toBeLessThanOrEqual(513);
  expect(drain(start(disk).engine, "slow")).toEqual(numbers);
});

it("single messages beside a busy partition do not keep megabytes of what has long gone", () => {
  const disk = new FakeDisk();
  const { engine, journal } = start(disk);
  const busy = Array.from({ length: 90 }, () => JSON.stringify("x".repeat(10_000)));
  const numbers = Array.from({ length: 60 }, (_, n) => n);
  for (const n of numbers) {
    engine.push("q", "slow", [String(n)], true);
    engine.push("q", "busy", busy, true);
    journal.write(n, true);
    disk.sync();
    // What stays is out of the order in which it lies in its row.
    drain(engine, "busy");
  }
  const payloads = [...disk.rows.values()].flatMap(payloadsIn);
  const megabytes = payloads.reduce((sum, { length }) => sum + length, 0) / 1e6;
  expect(megabytes).toBeLessThan(20);
  const again = start(disk).engine;
  expect(drain(again, "slow")).toEqual(numbers);
});
