import type { Bench, Scenario } from "../bench.ts";
import { Connection, get } from "../client.ts";
import { interleave } from "../measure.ts";
import { ask, awaitSeen, fill, startReference, startWaggle, type Stand } from "../stand.ts";

const MESSAGES = 20_000;
const BYTES = 100;
const QUEUES = { by1: 1, by10: 10, by100: 100 };

/** Messages per second from a full queue into a consumer's handler. */
export const draining: Scenario = {
  name: "durable-drain",
  async run(bench) {
    const count = 1000 * Math.ceil(bench.some(MESSAGES) / 1000);
    const waggle = await startWaggle(bench, QUEUES);
    const helped = await startWaggle(bench, { by100: 100 }, true);
    const reference = await startReference(bench, QUEUES);
    for (const batch of [1, 10]) {
      const queue = `by${batch}`;
      await compare(bench, batch, [drain(waggle, queue, count), drain(reference, queue, count)]);
    }
    const sides = [waggle, reference, helped].map((stand) => drain(stand, "by100", count));
    await compare(bench, 100, sides);
    await Promise.all([waggle, helped, reference].map((stand) => stand.stop()));
  },
};

type Drain = () => Promise<number>;

async function compare(bench: Bench, batch: number, sides: Drain[]): Promise<void> {
  const rounds = batch === 1 ? 1 : Math.min(bench.rounds, 3);
  const [figure = NaN, reference = NaN, helped] = await interleave<Drain[]>(rounds, sides);
  const unit = "messages/s, reference: the simulator";
  const name = `drain by ${batch}`;
  bench.report({ name, figure, reference, unit, bar: { atLeast: batch === 100 ? 0.6 : 1 } });
  if (helped === undefined) return;
  bench.report({ name: `${name}, with the helper`, figure: helped, reference, unit, bar: { atLeast: 1 } });
}

/** Fills the queue while the consumer holds on to the first batch, then times the rest. */
function drain(stand: Stand, queue: string, messages: number): Drain {
  // The round that only warms up need not be long: one by one, the simulator takes half a minute.
  let count = messages / 10;
  return async () => {
    await ask(stand.consumer, "/reset?hold");
    await fill(stand.producer, queue, count, BYTES);
    const connection = await Connection.open(stand.consumer);
    const startedAt = performance.now();
    await connection.send(get("/release"));
    await awaitSeen(stand.consumer, count);
    const rate = (count * 1000) / (performance.now() - startedAt);
    connection.close();
    const drained = count;
    count = messages;
    const { missing, repeated } = await ask(stand.consumer, `/tally?count=${drained}`);
    if (missing > 0 || repeated > 0) throw new Error(`${missing} messages are missing, ${repeated} came twice`);
    return rate;
  };
}
