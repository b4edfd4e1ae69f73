import { it } from "vitest";
import { losesNothing } from "./cluster-property.ts";
import { ClusterRun } from "./cluster-run.ts";

losesNothing();

it("a home that crashes right after it has answered a registration asks again who holds what", async () => {
  const cluster = new ClusterRun(3, [99, 99, 0]);
  await cluster.whole([
    // Everybody goes to sleep.
    { op: { op: "advance", ms: 31_000 }, turns: null },
    { op: { op: "push", queue: "implicit", partition: "b", count: 1 }, turns: null },
    { op: { op: "advance", ms: 1 }, turns: null },
    { op: { op: "crash", owner: 2 }, turns: null },
  ]);
});
