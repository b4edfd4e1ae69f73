import { setTimeout as sleep } from "node:timers/promises";
import type { Scenario } from "../bench.ts";
import { Connection } from "../client.ts";
import { ask, awaitSeen, send, sendBatch, startWaggle } from "../stand.ts";

const BYTES = 200;
const QUEUES = { singly: 10, together: 100 };
const SETTLED_MS = 1000;

/** Rows written per message, which is what the platform bills. */
export const durableRows: Scenario = {
  name: "durable-rows",
  async run(bench) {
    const waggle = await startWaggle(bench, QUEUES);
    const producer = await Connection.open(waggle.producer);
    /** Rows per message of so many requests, each sent once the last one's messages are handled. */
    const rowsOf = async (queue: string, requests: number, messages: number): Promise<number> => {
      const before = await waggle.api.rowsWritten(queue);
      await ask(waggle.consumer, "/reset");
      for (let request = 0; request < requests; request++) {
        const one = messages === 1 ? send(queue, request, BYTES) : sendBatch(queue, 0, messages, BYTES);
        const { status, body } = await producer.send(one);
        if (status !== 200) throw new Error(`a send was answered ${status}: ${body.toString()}`);
        await awaitSeen(waggle.consumer, (request + 1) * messages);
      }
      await sleep(SETTLED_MS);
      return ((await waggle.api.rowsWritten(queue)) - before) / (requests * messages);
    };
    const unit = "rows per message";
    for (const [queue, requests, messages, limit] of [
      ["singly", 200, 1, 2.2],
      ["together", 20, 100, 0.1],
    ] as const) {
      // What is written once for a queue is not counted.
      await rowsOf(queue, 1, messages);
      const name =
        messages === 1 ? "rows written, sent and handled singly" : `rows written, sent and handled by ${messages}`;
      bench.report({ name, figure: await rowsOf(queue, bench.some(requests), messages), unit, limit });
    }
    producer.close();
    await waggle.stop();
  },
};
