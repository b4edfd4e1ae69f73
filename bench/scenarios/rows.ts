import { setTimeout as sleep } from "node:timers/promises";
import type { Scenario } from "../bench.ts";
import { Connection } from "../client.ts";
import { ack, metrics, pop, push } from "../requests.ts";

const MESSAGES = 1000;
const BATCH = 100;
const BYTES = 200;
const GROUP = "readers";
const WAITS_MS = 5000;

/** What checkpoints cost, in what the platform bills: rows written and alarms set, per 1,000 messages. */
export const rows: Scenario = {
  name: "rows",
  async run(bench) {
    const broker = await bench.start({ OWNERS: 1 });
    const connection = await Connection.open(broker.port);
    const settled = async (): Promise<number[]> => {
      // Whatever has to be written is written within a second.
      await sleep(1500);
      const { body } = await connection.send(metrics);
      return ["checkpoint_rows", "alarms_set"].map((name) => {
        const count = new RegExp(`^waggle_ephemeral_${name}_total (\\d+)$`, "m").exec(body.toString())?.[1];
        if (count === undefined) throw new Error(`/metrics does not count ${name}`);
        return Number(count);
      });
    };
    const consume = async (queue: string): Promise<void> => {
      const { body } = await connection.send(pop(queue, { group: GROUP, batch: BATCH }));
      const { messages } = JSON.parse(body.toString()) as { messages: { id: string }[] };
      await connection.send(
        ack(
          queue,
          messages.map(({ id }) => id),
          GROUP,
        ),
      );
    };
    // The partition and the group are there before the counting: their names are written once.
    for (const queue of ["at-once", "later"]) {
      await connection.send(push(queue, 1, BYTES));
      await consume(queue);
    }

    const before = await settled();
    for (let sent = 0; sent < MESSAGES; sent += BATCH) {
      await connection.send(push("at-once", BATCH, BYTES));
      await consume("at-once");
      await sleep(250);
    }
    const between = await settled();
    for (let sent = 0; sent < MESSAGES; sent += BATCH) await connection.send(push("later", BATCH, BYTES));
    await sleep(WAITS_MS);
    for (let taken = 0; taken < MESSAGES; taken += BATCH) {
      await consume("later");
      await sleep(250);
    }
    const after = await settled();

    const per = `per ${MESSAGES} messages`;
    bench.report({ name: "rows written, consumed at once", figure: delta(before, between, 0), unit: per, limit: 0 });
    bench.report({ name: "alarms set, consumed at once", figure: delta(before, between, 1), unit: per });
    bench.report({
      name: "rows written, consumed after 5 s by 100",
      figure: delta(between, after, 0),
      unit: per,
      limit: 30,
    });
    bench.report({ name: "alarms set, consumed after 5 s by 100", figure: delta(between, after, 1), unit: per });
    connection.close();
    await broker.stop();
  },
};

function delta(from: number[], to: number[], index: number): number {
  return (to[index] ?? 0) - (from[index] ?? 0);
}
