import { expect, it } from "vitest";
import { Bench } from "./harness.ts";

it("a pop of one partition that came first is not passed over when several partitions get something at once", () => {
  const bench = new Bench();
  const { engine } = bench;
  const pop = (partition: string | null, batch: number, waitMs: number, waiterId: string) =>
    engine.pop({ queue: "q", partition, group: "g", batch, autoAck: false, waitMs, waiterId });
  bench.at(0);
  engine.push("q", "late", ["1"], true);
  engine.push("q", "early", ["2"], true);
  pop(null, 10, 0, "holder");
  pop("early", 1, 60_000, "first");
  pop(null, 10, 60_000, "second");
  // Both leases run out in the same moment.
  bench.at(30);
  const answers = bench.effects.answers.map(({ waiterId, batch }) => [
    waiterId,
    batch.items.map((text) => (JSON.parse(text) as { payload: number }).payload),
  ]);
  expect(answers).toEqual([
    ["first", [2]],
    ["second", [1]],
  ]);
});
