import type { Bench, Scenario } from "../bench.ts";
import { Client } from "../client.ts";
import { interleave } from "../measure.ts";
import { fill, freshQueues, pop, push, repeat, type PopOptions } from "../requests.ts";
import type { Workerd } from "../workerd.ts";

const BYTES = 100;
const MANY = 10_000;
const BAR = { atMost: 1.15 };

/** What a push and a pop of one message take, with little and with much in the way. One connection, so that it is the time of the two. */
export const sizes: Scenario = {
  name: "size",
  async run(bench) {
    await waiting(bench);
    await rings(bench);
    await groups(bench);
  },
};

async function waiting(bench: Bench): Promise<void> {
  // The default bound is 10,000 messages, and one more has to fit.
  const broker = await bench.start({ EPHEMERAL_QUEUE_MAX_LENGTH: 2 * MANY });
  const client = await Client.open(broker.port, 1);
  const [few = "", many = ""] = freshQueues(2);
  await client.rate(1, repeat(push(few, 10, BYTES)), 201);
  await fill(client, [many], MANY / 100, BYTES);
  const sides = [pairs(bench, client, many), pairs(bench, client, few)] as const;
  await compare(bench, `${MANY} messages waiting, against 10`, sides);
  client.close();
  await broker.stop();
}

async function rings(bench: Bench): Promise<void> {
  const [queue = ""] = freshQueues(1);
  // Two processes, each with one owner: what counts is how many rings the owner holds.
  const one = await bench.start({ OWNERS: 1, EPHEMERAL_QUEUE_MAX_LENGTH: 2 * MANY });
  const full = await bench.start({ OWNERS: 1, EPHEMERAL_QUEUE_MAX_LENGTH: 2 * MANY });
  const few = await Client.open(one.port, 1);
  const many = await Client.open(full.port, 1);
  const filling = await Client.open(full.port, 8);
  await filling.rate(MANY, (index) => push(queue, 1, BYTES, `p${index}`), 201);
  const named = { partition: "Default" };
  await compare(bench, `${MANY} rings with a message each, against 1`, [
    pairs(bench, many, queue, named),
    pairs(bench, few, queue, named),
  ]);
  await filling.rate(1, repeat(pop(queue, { batch: MANY, autoAck: true })), 200);
  await compare(bench, `${MANY} empty rings, pop of any, against 1`, [
    pairs(bench, many, queue),
    pairs(bench, few, queue),
  ]);
  for (const client of [few, many, filling]) client.close();
  await stopAll(one, full);
}

async function groups(bench: Bench): Promise<void> {
  const client = await Client.open(bench.broker.port, 1);
  const [few = "", many = ""] = freshQueues(2);
  const others = Array.from({ length: 99 }, (_, index) =>
    pop(many, { group: `g${index}`, batch: 10_000, autoAck: true }),
  );
  const catchUp = (): Promise<number> => client.rate(others.length, (index) => others[index] ?? Buffer.alloc(0), 200);
  await catchUp();
  const timed = pairs(bench, client, many);
  await compare(bench, "100 groups, against 1", [
    async () => {
      const took = await timed();
      // Untimed: or else the queue would be full of what the others have not read.
      await catchUp();
      return took;
    },
    pairs(bench, client, few),
  ]);
  client.close();
}

/** Pushes one message and pops one, again and again; answers ms for the two. */
function pairs(bench: Bench, client: Client, queue: string, options: PopOptions = {}): () => Promise<number> {
  const [connection] = client.connections;
  const pushOne = push(queue, 1, BYTES, options.partition);
  const popOne = pop(queue, { ...options, autoAck: true });
  return async () => {
    const count = bench.some(250);
    const startedAt = performance.now();
    for (let pair = 0; pair < count; pair++) {
      const pushed = await connection?.send(pushOne);
      const popped = await connection?.send(popOne);
      if (pushed?.status !== 201 || popped?.body.includes("payload") !== true)
        throw new Error("a message was not taken");
    }
    return (performance.now() - startedAt) / count;
  };
}

async function compare(
  bench: Bench,
  name: string,
  [large, small]: readonly [() => Promise<number>, () => Promise<number>],
): Promise<void> {
  const [figure, reference] = await interleave(bench.rounds, [large, small]);
  bench.report({ name: `push + pop, ${name}`, figure, reference, unit: "ms for the two", bar: BAR });
}

async function stopAll(...brokers: Workerd[]): Promise<void> {
  await Promise.all(brokers.map((broker) => broker.stop()));
}
