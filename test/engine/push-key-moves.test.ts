import { expect, it } from "vitest";
import { Cluster } from "./cluster.ts";

const PARTITIONS = Array.from({ length: 20 }, (_, n) => `p${n}`);

it("a push that is repeated while its partition moves, and when it has moved, stores nothing", async () => {
  const cluster = new Cluster(3, [], () => {});
  const { clock } = cluster;
  /** Sends one push a partition; one that is refused for the move is sent again. */
  const push = async () => {
    const left = new Set(PARTITIONS);
    for (let tries = 0; left.size > 0 && tries < 20; tries++) {
      for (const partition of left) {
        cluster.broker.push("q", [`"${partition}"`], partition, true, { key: "k" }).then(
          (pushed) => pushed === 1 && left.delete(partition),
          () => {},
        );
      }
      await clock.advance(100);
    }
    expect([...left]).toEqual([]);
  };
  const held = () =>
    cluster
      .rings()
      .flatMap(({ texts }) => texts)
      .sort();
  const expected = PARTITIONS.map((partition) => `"${partition}"`).sort();
  await clock.rule(async () => {
    await push();
    await clock.advance(2000);
    for (const owners of [6, 2, 5]) {
      cluster.restart(owners);
      await push();
      expect(held()).toEqual(expected);
      await clock.advance(3000);
      await push();
      expect(held()).toEqual(expected);
    }
  });
});
