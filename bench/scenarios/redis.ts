import type { Scenario } from "../bench.ts";
import { Client, post } from "../client.ts";
import { interleave, type Round } from "../measure.ts";
import { commands, Resp, startRedis } from "../redis.ts";
import { freshQueues, payload, pop, push, pushBody } from "../requests.ts";

const CONNECTIONS = 8;
const BATCH = 100;
const BYTES = 200;

/** Pushes 100 messages and takes 100, on each of 8 connections at once, on one queue and on one Redis list. */
export const againstRedis: Scenario = {
  name: "redis",
  async run(bench) {
    const redis = await startRedis();
    if (redis === null) {
      console.log("redis: redis-server is not installed; its rows are left out");
      return;
    }
    const [queue = ""] = freshQueues(1);
    const waggle = await Client.open(bench.broker.port, CONNECTIONS);
    const bare = await Client.open(bench.bare.port, CONNECTIONS);
    const lists = await Promise.all(Array.from({ length: CONNECTIONS }, () => Resp.open(redis.port)));
    const requests = [push(queue, BATCH, BYTES), pop(queue, { batch: BATCH, autoAck: true })] as const;
    const echo = post("/echo", pushBody(queue, BATCH, BYTES));
    const values = Array.from({ length: BATCH }, () => payload(BYTES));
    const take = commands(["LPOP", queue, String(BATCH)]);
    const pipeline = commands(...values.map((value) => ["RPUSH", queue, value]));
    const single = commands(["RPUSH", queue, ...values]);
    const pairs = bench.some(40);
    const redisPairs = 4 * pairs;
    const [figure, pipelined, joined, echoed] = await interleave(bench.rounds, [
      together(pairs, waggle.connections, async (connection) => {
        const pushed = await connection.send(requests[0]);
        const popped = await connection.send(requests[1]);
        if (pushed.status !== 201 || popped.body.length < BATCH * BYTES) throw new Error("a batch was not taken");
      }),
      together(redisPairs, lists, (list) => pushAndTake(list, pipeline, BATCH, take)),
      together(redisPairs, lists, (list) => pushAndTake(list, single, 1, take)),
      together(pairs, bare.connections, async (connection) => {
        await connection.send(echo);
        await connection.send(echo);
      }),
    ]);
    const name = `push ${BATCH} + pop ${BATCH}, ${CONNECTIONS} connections`;
    const bar = { atLeast: 1 };
    const unit = "messages/s, reference:";
    bench.report({ name, figure, reference: pipelined, unit: `${unit} Redis, ${BATCH} RPUSH in a pipeline`, bar });
    bench.report({ name, figure, reference: joined, unit: `${unit} Redis, one RPUSH of ${BATCH}` });
    bench.report({ name, figure, reference: echoed, unit: `${unit} two bare echoes of the push` });
    for (const connection of [...waggle.connections, ...bare.connections, ...lists]) connection.close();
    await redis.stop();
  },
};

async function pushAndTake(list: Resp, pushes: Buffer, replies: number, take: Buffer): Promise<void> {
  await list.send(pushes, replies);
  // The length of the array, then two lines for each value.
  await list.send(take, 1 + 2 * BATCH);
}

/** So many pushes and pops on every connection, all at once; answers messages per second. */
function together<T>(pairs: number, connections: readonly T[], pair: (connection: T) => Promise<void>): Round {
  return async () => {
    const startedAt = performance.now();
    await Promise.all(
      connections.map(async (connection) => {
        for (let done = 0; done < pairs; done++) await pair(connection);
      }),
    );
    return (connections.length * pairs * BATCH * 1000) / (performance.now() - startedAt);
  };
}
