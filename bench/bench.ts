import { join } from "node:path";
import type { Row } from "./table.ts";
import { buildBroker, buildOf, startWorkerd, type Build, type Workerd } from "./workerd.ts";

/** What a scenario works with. */
export interface Bench {
  /** Rounds of a comparison. */
  rounds: number;
  /** A number of requests, fewer of them in a quick run. */
  some(count: number): number;
  broker: Workerd;
  bare: Workerd;
  /** What the broker is built to. */
  build: Build;
  /** A broker of one's own, with other vars. */
  start(vars: Record<string, number>): Promise<Workerd>;
  report(row: Row): void;
}

export interface Scenario {
  name: string;
  run(bench: Bench): Promise<void>;
}

export async function prepare(quick: boolean, report: (row: Row) => void): Promise<Bench> {
  const build = await buildBroker();
  const start = (vars: Record<string, number>): Promise<Workerd> => startWorkerd({ build, vars });
  return {
    rounds: quick ? 5 : 11,
    some: (count) => (quick ? Math.ceil(count / 4) : count),
    broker: await start({}),
    bare: await startWorkerd({ build: bareOf(build) }),
    build,
    start,
    report,
  };
}

/** The reference runs on the same runtime, with the same date and flags. */
function bareOf(build: Build): Build {
  const path = join(import.meta.dirname, "bare.js");
  return buildOf(path, build, { objects: { BARE: "Bare", TABLE: "Table" } });
}
