import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Scenario } from "../bench.ts";
import { Connection, post } from "../client.ts";
import { interleave, quantile } from "../measure.ts";
import { awaitSeen, ask, bodyOf, send, stampsOf, startReference, startWaggle, type Stand } from "../stand.ts";

const BYTES = 100;
const EVERY_MS = 20;
const SAMPLES = 500;
const ROUNDS = 5;
const QUEUES = { single: 10 };

/**
 * From a producer's `send()` to the first line of the handler, at a low rate. Both Workers note the time by the clock of
 * their process, which counts whole milliseconds; the client's clock, which is finer and beats against it, is what both are
 * held against.
 */
export const latencies: Scenario = {
  name: "durable-latency",
  async run(bench) {
    const waggle = await startWaggle(bench, QUEUES);
    const reference = await startReference(bench, QUEUES);
    const sides = [await deliveries(waggle), await deliveries(reference)];
    const rows = await inserts(bench);
    const count = Math.ceil(bench.some(SAMPLES) / ROUNDS);
    await interleave(
      ROUNDS,
      [...sides, rows].map(
        ({ round }) =>
          () =>
            round(count),
      ),
    );
    for (const share of [0.5, 0.99]) {
      const [figure = NaN, simulator = NaN] = sides.map(({ samples }) => quantile(samples, share));
      bench.report({
        name: `send to handler, p${share * 100}`,
        figure,
        reference: simulator,
        unit: "ms, reference: the simulator",
        ...(share === 0.5 && { bar: { atMost: 1 } }),
      });
    }
    bench.report({
      name: "a row by a bare object at the same rate, p50",
      figure: quantile(rows.samples, 0.5),
      unit: "ms, less an echo: what the disk takes",
    });
    for (const side of [...sides, rows]) side.close();
    await Promise.all([waggle, reference].map((stand) => stand.stop()));
  },
};

interface Samples {
  samples: number[];
  /** Adds so many. */
  round(count: number): Promise<number>;
  close(): void;
}

async function deliveries(stand: Stand): Promise<Samples> {
  const connection = await Connection.open(stand.producer);
  const samples: number[] = [];
  return {
    samples,
    async round(count) {
      await ask(stand.consumer, "/reset");
      const startedAt: number[] = [];
      for (let number = 0; number < count; number++) {
        await sleep(EVERY_MS);
        startedAt.push(performance.timeOrigin + performance.now());
        await answered(connection, send("single", number, BYTES), 200);
      }
      await awaitSeen(stand.consumer, count);
      const [sent, handled] = [await stampsOf(stand.producer), await stampsOf(stand.consumer)];
      const until = (stamps: number[]): number[] => startedAt.map((start, number) => (stamps[number] ?? NaN) - start);
      const toSend = quantile(until(sent), 0.5);
      samples.push(...until(handled).map((toHandler) => toHandler - toSend));
      return toSend;
    },
    close: () => connection.close(),
  };
}

async function inserts({ bare }: Bench): Promise<Samples> {
  const connection = await Connection.open(bare.port);
  const samples: number[] = [];
  const timed = async (path: string, count: number, status: number): Promise<number[]> => {
    const request = post(path, bodyOf(0, BYTES));
    const taken: number[] = [];
    for (let sample = 0; sample < count; sample++) {
      await sleep(EVERY_MS);
      const startedAt = performance.now();
      await answered(connection, request, status);
      taken.push(performance.now() - startedAt);
    }
    return taken;
  };
  return {
    samples,
    async round(count) {
      const echo = quantile(await timed("/echo", count, 200), 0.5);
      samples.push(...(await timed("/insert", count, 201)).map((took) => took - echo));
      return echo;
    },
    close: () => connection.close(),
  };
}

async function answered(connection: Connection, request: Buffer, expected: number): Promise<void> {
  const { status, body } = await connection.send(request);
  if (status !== expected) throw new Error(`${status} instead of ${expected}: ${body.toString()}`);
}
