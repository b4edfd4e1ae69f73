import type { Bench, Scenario } from "../bench.ts";
import { Client, post } from "../client.ts";
import { interleave } from "../measure.ts";
import { freshQueues, push, pushBody, removeAll, repeat } from "../requests.ts";

/** A queue holds 10,000 messages by default; a round goes on to the next queue well before. */
const PER_QUEUE = 9000;

export const pushing: Scenario = {
  name: "push",
  async run(bench) {
    for (const connections of [1, 16]) {
      await compare(bench, {
        messages: 1,
        bytes: 100,
        connections,
        requests: connections === 1 ? 400 : 1000,
        bar: 0.9,
      });
      await compare(bench, {
        messages: 100,
        bytes: 200,
        connections,
        requests: connections === 1 ? 250 : 500,
        bar: 0.6,
      });
    }
  },
};

interface Load {
  messages: number;
  bytes: number;
  connections: number;
  requests: number;
  bar: number;
}

async function compare(bench: Bench, { messages, bytes, connections, requests, bar }: Load): Promise<void> {
  const broker = await Client.open(bench.broker.port, connections);
  const bare = await Client.open(bench.bare.port, connections);
  const count = bench.some(requests);
  const pushesPerQueue = Math.floor(PER_QUEUE / messages);
  const echo = repeat(post("/echo", pushBody("bench-0", messages, bytes)));
  const [figure, reference] = await interleave(bench.rounds, [
    async () => {
      const queues = freshQueues(Math.ceil(count / pushesPerQueue));
      const pushes = queues.map((queue) => push(queue, messages, bytes));
      const next = (index: number): Buffer => pushes[Math.floor(index / pushesPerQueue)] ?? Buffer.alloc(0);
      const rate = await broker.rate(count, next, 201);
      await removeAll(broker, queues);
      return rate;
    },
    () => bare.rate(count, echo, 200),
  ]);
  const name = `push ${messages} of ${bytes} B, ${connections} connection${connections === 1 ? "" : "s"}`;
  bench.report({ name, figure, reference, unit: "requests/s, reference: echo", bar: { atLeast: bar } });
  broker.close();
  bare.close();
}
