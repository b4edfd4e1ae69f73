import { setTimeout as sleep } from "node:timers/promises";
import type { Scenario } from "../bench.ts";
import { Connection, get, post } from "../client.ts";
import { interleave, quantile } from "../measure.ts";
import { freshQueues, pop, push, pushBody } from "../requests.ts";

const BYTES = 100;
/** Time for a pop to reach its object and park before the message is sent. */
const PARK_MS = 2;
/** The pop's own end, which no run should reach. */
const WAIT_MS = 10_000;

/** From sending a push to having the answer of a pop that was parked, against the same two requests on a bare object. */
export const parking: Scenario = {
  name: "parked",
  async run(bench) {
    const [queue = ""] = freshQueues(1);
    const waggle = await pair(
      bench.broker.port,
      pop(queue, { autoAck: true, timeout: WAIT_MS }),
      push(queue, 1, BYTES),
    );
    const bare = await pair(bench.bare.port, get("/park"), post("/wake", pushBody(queue, 1, BYTES)));
    const count = bench.some(200);
    const [figure, reference] = await interleave(bench.rounds, [() => waggle.round(count), () => bare.round(count)]);
    const unit = "ms, reference: park and wake";
    bench.report({ name: "delivery to a parked pop, p50", figure, reference, unit, bar: { atMost: 1.25 } });
    for (const share of [0.95, 0.99]) {
      bench.report({
        name: `delivery to a parked pop, p${share * 100}`,
        figure: quantile(waggle.latencies, share),
        reference: quantile(bare.latencies, share),
        unit: "ms, over all rounds",
      });
    }
    waggle.close();
    bare.close();
  },
};

/** A connection that parks and one that lets it go. */
async function pair(port: number, park: Buffer, wake: Buffer) {
  const [waiting, waking] = await Promise.all([Connection.open(port), Connection.open(port)]);
  const latencies: number[] = [];
  return {
    latencies,
    /** Answers the median of so many deliveries, in ms. */
    async round(count: number): Promise<number> {
      const round: number[] = [];
      for (let sample = 0; sample < count; sample++) {
        const parked = waiting.send(park);
        await sleep(PARK_MS);
        const sentAt = performance.now();
        const woken = waking.send(wake);
        const { body } = await parked;
        round.push(performance.now() - sentAt);
        if (!body.includes("payload")) throw new Error(`the parked pop was answered ${body.toString()}`);
        await woken;
      }
      latencies.push(...round);
      return quantile(round, 0.5);
    },
    close(): void {
      waiting.close();
      waking.close();
    },
  };
}
