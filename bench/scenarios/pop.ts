import type { Bench, Scenario } from "../bench.ts";
import { Client, post } from "../client.ts";
import { interleave, quantile } from "../measure.ts";
import { ack, ackBody, fill, freshQueues, pop, removeAll, repeat } from "../requests.ts";

const BYTES = 200;
/** Pushes of 100 into each queue, below the 10,000 messages that it may hold. */
const FILLS = 90;

export const popping: Scenario = {
  name: "pop",
  async run(bench) {
    for (const connections of [1, 16]) {
      await popped(bench, { batch: 1, connections, queues: 1, requests: connections === 1 ? 400 : 1000 });
      await popped(bench, { batch: 100, connections, queues: connections === 1 ? 2 : 4, requests: FILLS });
    }
    await settled(bench);
  },
};

interface Load {
  batch: number;
  connections: number;
  queues: number;
  /** Of each queue. */
  requests: number;
}

/** Takes messages that are there, each settled as it is handed out. */
async function popped(bench: Bench, { batch, connections, queues, requests }: Load): Promise<void> {
  const broker = await Client.open(bench.broker.port, connections);
  const bare = await Client.open(bench.bare.port, connections);
  const perQueue = bench.some(requests);
  const names = freshQueues(queues);
  const options = { batch, autoAck: true };
  await fill(broker, names, 1, BYTES);
  const sample = await broker.connections[0]?.send(pop(names[0] ?? "", options));
  await removeAll(broker, names);
  const echo = repeat(post("/echo", sample?.body.toString() ?? ""));
  const count = perQueue * queues;
  const [figure, reference] = await interleave(bench.rounds, [
    async () => {
      await fill(broker, names, Math.ceil((perQueue * batch) / 100), BYTES);
      const pops = names.map((queue) => pop(queue, options));
      const rate = await broker.rate(count, (index) => pops[Math.floor(index / perQueue)] ?? Buffer.alloc(0), 200);
      await removeAll(broker, names);
      return rate;
    },
    () => bare.rate(count, echo, 200),
  ]);
  const name = `pop ${batch} of ${BYTES} B, ${connections} connection${connections === 1 ? "" : "s"}`;
  bench.report({ name, figure, reference, unit: "requests/s, reference: echo of the answer" });
  broker.close();
  bare.close();
}

/** Takes messages under a lease, then settles them. */
async function settled(bench: Bench): Promise<void> {
  const connections = 16;
  const broker = await Client.open(bench.broker.port, connections);
  const bare = await Client.open(bench.bare.port, connections);
  const perQueue = bench.some(FILLS);
  const taken: number[] = [];
  const take = async (queues: readonly string[]): Promise<Popped[]> => {
    await fill(broker, queues, perQueue, BYTES);
    const pops = queues.map((queue) => pop(queue, { batch: 100 }));
    const next = (index: number): Buffer => pops[Math.floor(index / perQueue)] ?? Buffer.alloc(0);
    const answers: Buffer[] = [];
    taken.push(await broker.rate(perQueue * queues.length, next, 200, (body) => answers.push(body)));
    return answers.map(readPop);
  };
  const [sample] = await take(freshQueues(1));
  if (sample === undefined) throw new Error("nothing was popped");
  const echo = repeat(post("/echo", ackBody(sample.queue, sample.ids)));
  const queues = freshQueues(3);
  const [figure, reference] = await interleave(bench.rounds, [
    async () => {
      const acks = (await take(queues)).map(({ queue, ids }) => ack(queue, ids));
      const rate = await broker.rate(acks.length, (index) => acks[index] ?? Buffer.alloc(0), 200);
      await removeAll(broker, queues);
      return rate;
    },
    () => bare.rate(perQueue * queues.length, echo, 200),
  ]);
  const where = `${connections} connections`;
  bench.report({ name: `pop 100 under a lease, ${where}`, figure: quantile(taken, 0.5), unit: "requests/s" });
  bench.report({ name: `ack 100, ${where}`, figure, reference, unit: "requests/s, reference: echo of the ack" });
  broker.close();
  bare.close();
}

interface Popped {
  queue: string;
  ids: string[];
}

function readPop(body: Buffer): Popped {
  const { queue, messages } = JSON.parse(body.toString()) as { queue: string; messages: { id: string }[] };
  return { queue, ids: messages.map(({ id }) => id) };
}
