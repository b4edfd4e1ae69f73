import { readFileSync, writeSync } from "node:fs";
import { Miniflare, NoOpLog, type MiniflareOptions } from "miniflare";
import type { SimulatorOptions } from "./simulator.ts";
import type { Build } from "./workerd.ts";

/** Runs the simulator and writes where its Workers answer; see {@link SimulatorOptions}. */

const PORTS_FD = 3;

type Config = NonNullable<MiniflareOptions["workers"]>[number]["config"];

const { queues, producer, consumer } = JSON.parse(process.argv[2] ?? "") as SimulatorOptions;

const sends = Object.keys(queues).map((name) => [name, { type: "queue" as const, name }] as const);
const consumes = Object.entries(queues).flatMap(([name, batchSize]) =>
  batchSize === null ? [] : [{ type: "queue" as const, name, maxBatchSize: batchSize, maxBatchTimeout: 0 }],
);

const simulator = new Miniflare({
  // Batches are reported whatever becomes of the reports.
  log: new NoOpLog(),
  logRequests: false,
  telemetry: { enabled: false },
  workers: [
    worker("producer", producer, { env: Object.fromEntries(sends) }),
    worker("consumer", consumer, { triggers: consumes }),
  ],
});

const port = async (name: string): Promise<number> => Number((await simulator.unsafeGetDirectURL(name)).port);
writeSync(PORTS_FD, JSON.stringify({ producer: await port("producer"), consumer: await port("consumer") }));
process.once("SIGTERM", () => void simulator.dispose().then(() => process.exit(0)));

function worker(name: string, { modules, compatibilityDate, compatibilityFlags }: Build, rest: Partial<Config>) {
  const contents = modules.map(
    (module) => [module.name, { type: "esm" as const, contents: readFileSync(module.path, "utf8") }] as const,
  );
  return {
    config: {
      name,
      compatibilityDate,
      compatibilityFlags,
      manifest: {
        mainModule: modules[0]?.name ?? "",
        modulesRoot: import.meta.dirname,
        modules: Object.fromEntries(contents),
      },
      exports: {},
      ...rest,
    },
    dev: { rootPath: import.meta.dirname, unsafeDirectSockets: [{ port: 0 }] },
  };
}
