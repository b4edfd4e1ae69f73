import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { BIN, buildBroker as buildInto, MAIN, type Build, type ServiceTarget, type Var } from "../serve/build.ts";
import { capnp } from "../serve/capnp.ts";
import { listening } from "../serve/listening.ts";
import { Child, removeAtExit } from "./children.ts";

export { buildOf, MAIN, type Build, type ServiceTarget } from "../serve/build.ts";

export interface StartOptions {
  /** Default: the broker, built anew. */
  build?: Build;
  /** More Workers of the same process, by name; each has a port of its own. */
  workers?: Record<string, Build>;
  /** Added to those of `build`. */
  services?: Record<string, ServiceTarget>;
  /** Added to those of `wrangler.toml`. */
  vars?: Record<string, Var>;
  /** Where objects keep their files; it stays after the end. Default: a fresh one that goes with the process. */
  dir?: string;
  /** Default: any free one. */
  port?: number;
  /** More arguments for `workerd serve`, such as `--inspector-addr`. */
  args?: string[];
}

export interface Workerd {
  url: string;
  /** Where each Worker answers, by name. */
  urls: Record<string, string>;
  port: number;
  pid: number;
  dir: string;
  /** What it logged last: warnings and errors of the Worker end up here. */
  log(): string;
  /** Ends it with SIGTERM. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL, as a crash would. */
  kill(): Promise<void>;
}

/** Builds the broker as a deployment would, with `AUTH` off. The result lies in `outDir`, by default a folder that goes with this process. */
export async function buildBroker(outDir?: string): Promise<Build> {
  const dir = outDir ?? join(import.meta.dirname, ".build", `broker-${process.pid}`);
  if (outDir === undefined) removeAtExit(dir);
  const build = await buildInto(dir);
  return { ...build, vars: { ...build.vars, AUTH: "off" } };
}

/** Runs a Worker on raw `workerd serve` and waits until its port answers. The process ends with this one at the latest. */
export async function startWorkerd(options: StartOptions = {}): Promise<Workerd> {
  const build = options.build ?? (await buildBroker());
  const main: Build = {
    ...build,
    vars: { ...build.vars, ...options.vars },
    services: { ...build.services, ...options.services },
  };
  const workers = { [MAIN]: main, ...options.workers };
  const scratch = await mkdtemp(join(tmpdir(), "waggle-workerd-"));
  removeAtExit(scratch);
  const dir = options.dir ?? join(scratch, "data");
  await mkdir(dir, { recursive: true });
  const file = join(scratch, "config.capnp");
  const names = Object.keys(workers);
  const addresses = Object.fromEntries(
    names.map((name) => [name, `127.0.0.1:${name === MAIN ? (options.port ?? 0) : 0}`]),
  );
  await writeFile(file, capnp({ workers, addresses, disk: dir }, scratch));
  const args = ["serve", file, "--control-fd=3", ...(options.args ?? [])];
  const child = new Child(join(BIN, "workerd"), args, ["pipe"]);
  const clean = () => rm(scratch, { recursive: true, force: true });
  try {
    const ports = await listening(child.process.stdio[3] as Readable, names, child.ended);
    const port = ports.get(MAIN) as number;
    return {
      url: urlOf(port),
      urls: Object.fromEntries(Array.from(ports, ([name, own]) => [name, urlOf(own)])),
      port,
      pid: child.pid,
      dir,
      log: () => child.stderr,
      stop: () => child.end("SIGTERM").then(clean),
      kill: () => child.end("SIGKILL").then(clean),
    };
  } catch (error) {
    await child.end("SIGKILL").then(clean);
    throw new Error(`${(error as Error).message}\n${child.stderr}`, { cause: error });
  }
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
