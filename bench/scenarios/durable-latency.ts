import { setTimeout as sleep } from "node:timers/promises";
import type { Scenario } from "../bench.ts";
import { Connection, get } from "../client.ts";
import { interleave, quantile } from "../measure.ts";
import { send, startReference, startWaggle, type Stand } from "../stand.ts";

const BYTES = 100;
const EVERY_MS = 20;
const SAMPLES = 500;
const ROUNDS = 5;
const QUEUES = { single: 10 };

/**
 * From sending a message to its handler, at a low rate. The clock is the client's, since a Worker's own stands still while
 * it runs: a request waits at the consumer Worker, whose handler lets it go. What the two requests take by themselves is
 * measured as well, with one that lets the other go directly, and subtracted from both brokers' figures.
 */
export const latencies: Scenario = {
  name: "durable-latency",
  async run(bench) {
    const stands = [await startWaggle(bench, QUEUES), await startReference(bench, QUEUES)];
    const sides = await Promise.all(stands.map((stand) => listen(stand)));
    const count = bench.some(SAMPLES) / ROUNDS;
    await interleave(
      ROUNDS,
      sides.flatMap(({ deliver, poke }) => [() => deliver(count), () => poke(count)]),
    );
    for (const share of [0.5, 0.99]) {
      const [figure = NaN, reference = NaN] = sides.map(
        ({ deliveries, pokes }) => quantile(deliveries, share) - quantile(pokes, 0.5),
      );
      bench.report({
        name: `send to handler, p${share * 100}`,
        figure,
        reference,
        unit: "ms, reference: the simulator",
        ...(share === 0.5 && { bar: { atMost: 1 } }),
        note: `less ${sides.map(({ pokes }) => quantile(pokes, 0.5).toFixed(2)).join(" and ")} for the requests themselves`,
      });
    }
    for (const side of sides) side.close();
    await Promise.all(stands.map((stand) => stand.stop()));
  },
};

export async function listen(stand: Stand) {
  const [waiting, poking, sending] = await Promise.all([
    Connection.open(stand.consumer),
    Connection.open(stand.consumer),
    Connection.open(stand.producer),
  ]);
  const next = get("/next");
  const round = async (count: number, samples: number[], wake: () => Promise<unknown>): Promise<number> => {
    const taken: number[] = [];
    for (let sample = 0; sample < count; sample++) {
      const parked = waiting.send(next);
      await sleep(EVERY_MS);
      const sentAt = performance.now();
      const woken = wake();
      await parked;
      taken.push(performance.now() - sentAt);
      await woken;
    }
    samples.push(...taken);
    return quantile(taken, 0.5);
  };
  const message = send("single", 0, BYTES);
  const poke = get("/poke");
  const deliveries: number[] = [];
  const pokes: number[] = [];
  return {
    deliveries,
    pokes,
    deliver: (count: number) => round(count, deliveries, () => sending.send(message)),
    poke: (count: number) => round(count, pokes, () => poking.send(poke)),
    close(): void {
      for (const connection of [waiting, poking, sending]) connection.close();
    },
  };
}
