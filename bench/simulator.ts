import { join } from "node:path";
import type { Readable } from "node:stream";
import { Child } from "./children.ts";
import type { Queues, Stand } from "./stand.ts";
import type { Build } from "./workerd.ts";

/** What the process of the simulator is started with, as JSON. */
export interface SimulatorOptions {
  queues: Queues;
  producer: Build;
  consumer: Build;
}

/**
 * The local simulator's own queue broker, with no proxy in front. It has a process of its own: its broker reports every
 * batch to the process that started it, and waits for that.
 */
export async function startSimulator(options: SimulatorOptions): Promise<Stand> {
  const main = join(import.meta.dirname, "simulator-process.ts");
  const child = new Child(process.execPath, [main, JSON.stringify(options)], ["pipe"]);
  const { promise, resolve, reject } = Promise.withResolvers<{ producer: number; consumer: number }>();
  void child.ended.then(() => reject(new Error(`the simulator has ended\n${child.stderr}`)));
  (child.process.stdio[3] as Readable).setEncoding("utf8").once("data", (line: string) => resolve(JSON.parse(line)));
  return { ...(await promise), stop: () => child.end("SIGTERM") };
}
