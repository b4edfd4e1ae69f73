import type { Bench, Scenario } from "../bench.ts";
import { Client, get, post } from "../client.ts";
import { interleave } from "../measure.ts";
import { repeat } from "../requests.ts";
import {
  ask,
  awaitSeen,
  batchBody,
  bodyOf,
  send,
  sendBatch,
  startReference,
  startWaggle,
  type Stand,
  type WaggleStand,
} from "../stand.ts";

const ROUNDS = 5;
/** Nothing takes what comes in here, or its consumer takes it all the while. */
const QUEUES = { kept: null, taken: 100 };

/** Sends through a producer Worker; each is on disk when it is answered. */
export const sending: Scenario = {
  name: "durable-send",
  async run(bench) {
    const waggle = await startWaggle(bench, QUEUES);
    const reference = await startReference(bench, QUEUES);
    for (const messages of [1, 100]) {
      const bytes = messages === 1 ? 100 : 200;
      for (const connections of [1, 16]) {
        const load = { messages, bytes, connections };
        await againstTable(bench, waggle, load);
        await againstSimulator(bench, [waggle, reference], load);
      }
    }
    await waggle.stop();
    await reference.stop();
  },
};

interface Load {
  messages: number;
  bytes: number;
  connections: number;
}

function nameOf({ messages, bytes, connections }: Load): string {
  return `send ${messages} of ${bytes} B, ${connections} connection${connections === 1 ? "" : "s"}`;
}

function requestOf(queue: string, { messages, bytes }: Load): Buffer {
  return messages === 1 ? send(queue, 0, bytes) : sendBatch(queue, 0, messages, bytes);
}

/** Against a bare object that inserts each request as one row, with nobody who takes the messages. */
async function againstTable(bench: Bench, waggle: WaggleStand, load: Load): Promise<void> {
  const { messages, bytes, connections } = load;
  const producer = await Client.open(waggle.producer, connections);
  const bare = await Client.open(bench.bare.port, connections);
  const count = bench.some(connections === 1 ? 200 : 600);
  const insert = post("/insert", messages === 1 ? bodyOf(0, bytes) : batchBody(0, messages, bytes));
  const [figure, reference] = await interleave(Math.min(bench.rounds, ROUNDS), [
    async () => {
      const rate = await producer.rate(count, repeat(requestOf("kept", load)), 200);
      await waggle.api.purge("kept");
      return rate;
    },
    async () => {
      const rate = await bare.rate(count, repeat(insert), 201);
      await bare.rate(1, repeat(get("/clear")), 201);
      return rate;
    },
  ]);
  bench.report({ name: nameOf(load), figure, reference, unit: "requests/s, reference: a row by a bare object" });
  producer.close();
  bare.close();
}

/** Against the simulator's broker, which keeps nothing on disk. Both deliver meanwhile. */
async function againstSimulator(bench: Bench, stands: [WaggleStand, Stand], load: Load): Promise<void> {
  const { messages, connections } = load;
  const count = bench.some(messages === 1 ? 400 : 80);
  const rounds = stands.map((stand) => async (): Promise<number> => {
    await ask(stand.consumer, "/reset");
    const producer = await Client.open(stand.producer, connections);
    const rate = await producer.rate(count, repeat(requestOf("taken", load)), 200);
    producer.close();
    await awaitSeen(stand.consumer, count * messages);
    return rate;
  });
  const [figure = NaN, reference] = await interleave(Math.min(bench.rounds, ROUNDS), rounds);
  const unit = "requests/s, reference: the simulator";
  bench.report({ name: `${nameOf(load)}, with a consumer`, figure, ...(reference && { reference }), unit });
}
