import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Scenario } from "../bench.ts";
import { Client } from "../client.ts";
import { interleave } from "../measure.ts";
import { residentMegabytes } from "../memory.ts";
import { repeat } from "../requests.ts";
import { ask, awaitSeen, fill, send, startWaggle, type WaggleStand } from "../stand.ts";

const MESSAGES = 100_000;
const BYTES = 1000;
const BATCH = 100;
const ROUNDS = 5;
const PURGE_AFTER = 2500;
/** A message that comes twice comes within this time, as good as certainly. */
const REPEATS_MS = 2000;

/** What 100,000 waiting messages change for those that send, for the memory, and how they leave. */
export const backlogs: Scenario = {
  name: "durable-backlog",
  async run(bench) {
    const waggle = await startWaggle(bench, { full: null, empty: null });
    const control = await startWaggle(bench, { full: null });
    const waiting = 100 * Math.ceil(bench.some(MESSAGES) / 100);
    await fill(waggle.producer, "full", waiting, BYTES);
    await fillAndPurge(control, waiting);
    const name = `${waiting} messages of ${BYTES} B waiting`;
    bench.report({
      name: `memory, ${name}`,
      figure: await residentMegabytes(waggle.workerd.pid),
      reference: await residentMegabytes(control.workerd.pid),
      unit: "MB of workerd, reference: the same sends, purged time and again",
    });
    await control.stop();
    let sent = waiting;
    for (const connections of [1, 16]) sent += await compare(bench, waggle, name, connections);
    await drain(bench, waggle, waiting, sent);
    await waggle.stop();
  },
};

/** The same work with little waiting at any time: what requests leave behind for the garbage collector is the same. */
async function fillAndPurge(stand: WaggleStand, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += PURGE_AFTER) {
    await fill(stand.producer, "full", Math.min(PURGE_AFTER, count - sent), BYTES);
    await stand.api.purge("full");
  }
}

/** Answers how many messages it has added to the full queue. */
async function compare(bench: Bench, waggle: WaggleStand, name: string, connections: number): Promise<number> {
  const count = bench.some(connections === 1 ? 100 : 400);
  let added = 0;
  const timed = async (queue: string): Promise<number> => {
    const client = await Client.open(waggle.producer, connections);
    // All have the same number, which is above those that the drain counts.
    const rate = await client.rate(count, repeat(send(queue, MESSAGES + 1, BYTES)), 200);
    client.close();
    return 1000 / rate;
  };
  const [figure, reference] = await interleave(Math.min(bench.rounds, ROUNDS), [
    async () => {
      added += count;
      return timed("full");
    },
    async () => {
      const took = await timed("empty");
      await waggle.api.purge("empty");
      return took;
    },
  ]);
  const where = `${connections} connection${connections === 1 ? "" : "s"}`;
  const unit = "ms a send, reference: none waiting";
  bench.report({ name: `send, ${name}, ${where}`, figure, reference, unit, bar: { atMost: 1.3 } });
  return added;
}

async function drain(bench: Bench, waggle: WaggleStand, waiting: number, sent: number): Promise<void> {
  await ask(waggle.consumer, "/reset");
  const startedAt = performance.now();
  await waggle.api.consume("full", BATCH);
  await awaitSeen(waggle.consumer, sent);
  const rate = (sent * 1000) / (performance.now() - startedAt);
  const peak = await residentMegabytes(waggle.workerd.pid);
  await sleep(REPEATS_MS);
  const { seen, missing, repeated } = await ask(waggle.consumer, `/tally?count=${waiting}`);
  const name = `drain of ${sent} by ${BATCH}`;
  const note = `${Math.round(peak)} MB at its end`;
  bench.report({ name, figure: rate, unit: "messages/s", note });
  bench.report({
    name: "not delivered, or more than once",
    figure: missing + repeated + (seen - sent),
    unit: "messages",
    limit: 0,
  });
}
