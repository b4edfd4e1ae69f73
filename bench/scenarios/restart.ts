import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Scenario } from "../bench.ts";
import { removeAtExit } from "../children.ts";
import { Client, Connection } from "../client.ts";
import { interleave } from "../measure.ts";
import { fill, pop } from "../requests.ts";
import { startWorkerd } from "../workerd.ts";

const QUEUES = 10;
/** Pushes of 100 messages to each queue. */
const PUSHES = 100;
const BYTES = 100;
const ROUNDS = 7;
/** Whatever has to be written is written within a second. */
const WRITTEN_MS = 1500;

/** What a backlog adds to the first request after a crash, which waits until its owner has read its checkpoint. */
export const restarting: Scenario = {
  name: "restart",
  async run(bench) {
    const pushes = bench.some(PUSHES);
    const [full, empty] = [await crashed(bench, pushes), await crashed(bench, 0)];
    const [withBacklog, without] = await interleave(Math.min(bench.rounds, ROUNDS), [
      () => firstRequestMs(bench, full),
      () => firstRequestMs(bench, empty),
    ]);
    bench.report({
      name: `first request after a crash, ${QUEUES * pushes * 100} messages waiting`,
      figure: withBacklog - without,
      unit: "ms more than with none",
      limit: 100,
      note: `${withBacklog.toFixed(0)} against ${without.toFixed(0)} ms`,
    });
  },
};

/** The folder of a broker that was killed with so much in it. */
async function crashed({ build }: Bench, pushes: number): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "waggle-bench-"));
  removeAtExit(dir);
  const broker = await startWorkerd({ build, dir, vars: { OWNERS: 1 } });
  const client = await Client.open(broker.port, 1);
  const queues = Array.from({ length: QUEUES }, (_, i) => `backlog-${i}`);
  await fill(client, queues, pushes, BYTES);
  client.close();
  await sleep(WRITTEN_MS);
  await broker.kill();
  return dir;
}

async function firstRequestMs({ build }: Bench, dir: string): Promise<number> {
  const broker = await startWorkerd({ build, dir, vars: { OWNERS: 1 } });
  const connection = await Connection.open(broker.port);
  const startedAt = performance.now();
  const { status } = await connection.send(pop("other"));
  const tookMs = performance.now() - startedAt;
  if (status !== 200) throw new Error(`the first request was answered ${status}`);
  connection.close();
  await broker.kill();
  return tookMs;
}
