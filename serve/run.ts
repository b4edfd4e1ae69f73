import { parseArgs } from "node:util";
import { startBox } from "./box.ts";
import { check, takenPorts } from "./check.ts";
import { BadConfig, readBox, type BoxConfig, type WorkerConfig } from "./config.ts";
import { lock } from "./lock.ts";
import { manifestOf } from "./workers.ts";

/** Runs the broker on this machine: `npm run serve`. */
const USAGE = "usage: npm run serve -- [--config FILE] [--port N] [--data DIR] [--check]";

try {
  const { check: isCheck, ...overrides } = options();
  const box = await readBox(overrides);
  await (isCheck ? report(box) : serve(box));
} catch (error) {
  const lines = error instanceof BadConfig ? error.problems : [error instanceof Error ? error.message : String(error)];
  for (const line of lines) console.error(line);
  process.exit(1);
}

function options() {
  try {
    return parseArgs({
      options: {
        config: { type: "string" },
        port: { type: "string" },
        data: { type: "string" },
        check: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    process.exit(2);
  }
}

/** `--check`: says what is wrong, and starts nothing. */
async function report(box: BoxConfig): Promise<void> {
  refuse(await check(box));
  if (lock(box.data) === null) console.log(`A broker runs on ${box.data}: the ports were not tried.`);
  else refuse(await takenPorts(box));
  console.log("The configuration is good.");
}

async function serve(box: BoxConfig): Promise<void> {
  refuse(await check(box));
  const held = lock(box.data);
  if (held === null) throw new Error(`another broker runs on ${box.data}; end it, or name another directory by --data`);
  refuse(await takenPorts(box));
  let isStopping = false;
  const stopping = new Promise<void>((resolve) => {
    const stop = (): void => {
      isStopping = true;
      resolve();
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  });
  const running = await startBox(box);
  say(box, running.url);
  await Promise.race([running.ended, stopping]);
  await running.stop();
  held.close();
  // A terminal sends its signals to workerd as well, which may be the first to act on them.
  if (!isStopping) throw new Error("workerd has ended by itself");
  process.exit(0);
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new BadConfig(problems);
}

function say({ keys, data, workers, consumers, bridges }: BoxConfig, url: string): void {
  const lines = [
    `Waggle listens on ${url}, its data in ${data}`,
    keys === undefined
      ? "AUTH is off: whoever reaches this port may do everything. It can be reached from this machine only."
      : `Requests need a token signed with a key of ${keys}.`,
    ...workers.map((worker) => `Worker ${worker.name}${consumed(worker)}`),
    ...consumers.map(({ queue, ...body }) =>
      `${queue}: ${String(body["type"])} ${String(body["url"] ?? "")}`.trimEnd(),
    ),
    ...bridges.map(({ source, queue }) => `bridge from ${source} into ${queue}`),
  ];
  console.log(lines.join("\n"));
}

function consumed(worker: WorkerConfig): string {
  const queues = manifestOf(worker).consumers.map(({ queue }) => queue);
  return queues.length === 0 ? "" : ` consumes ${queues.join(", ")}`;
}
