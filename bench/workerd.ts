import { execFile } from "node:child_process";
import { mkdtemp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { unstable_readConfig as readConfig } from "wrangler";
import { Child, removeAtExit } from "./children.ts";

const ROOT = join(import.meta.dirname, "..");
const BIN = join(ROOT, "node_modules", ".bin");
const READY_MS = 10_000;

type Var = string | number | boolean;

/** A Worker that is ready to run: what `workerd` has to know of it. */
export interface Build {
  /** The main module comes first. `name` is what an import statement says. */
  modules: { name: string; path: string; type: "esModule" | "text" }[];
  /** Durable Object classes by the name of their binding. */
  objects: Record<string, string>;
  /** Bindings to other Workers of the same process, by the name of the binding. */
  services?: Record<string, ServiceTarget>;
  vars: Record<string, Var>;
  compatibilityDate: string;
  compatibilityFlags: string[];
}

/** What a service binding reaches. */
export interface ServiceTarget {
  /** The Worker's name in {@link StartOptions.workers}, or {@link MAIN}. */
  service: string;
  /** Default: its default export. */
  entrypoint?: string;
  props?: Record<string, unknown>;
}

/** The name of the Worker that `build` gives. */
export const MAIN = "main";

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

/** Builds the broker as a deployment would. The result lies in `outDir`, by default a folder that goes with this process. */
export async function buildBroker(outDir?: string): Promise<Build> {
  const dir = outDir ?? join(import.meta.dirname, ".build", `broker-${process.pid}`);
  if (outDir === undefined) removeAtExit(dir);
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  const wrangler = [join(BIN, "wrangler"), "deploy", "--dry-run", "--outdir", dir];
  await promisify(execFile)(process.execPath, wrangler, { cwd: ROOT });
  const config = readConfig({ config: join(ROOT, "wrangler.toml") });
  if (config.compatibility_date === undefined) throw new Error("wrangler.toml names no compatibility_date");
  const bindings: { name: string; class_name: string }[] = config.durable_objects.bindings;
  // wrangler leaves a text module beside the bundle, under the very name that the bundle imports.
  const texts = (await readdir(dir)).filter((name) => name.endsWith(".sql"));
  return {
    modules: [
      { name: "index.js", path: join(dir, "index.js"), type: "esModule" },
      ...texts.map((name) => ({ name: `./${name}`, path: join(dir, name), type: "text" as const })),
    ],
    objects: Object.fromEntries(bindings.map(({ name, class_name }) => [name, class_name])),
    vars: { ...(config.vars as Record<string, Var>), AUTH: "off" },
    compatibilityDate: config.compatibility_date,
    compatibilityFlags: config.compatibility_flags,
  };
}

/** A Worker that is one file of JavaScript, run as the broker is: its dates and flags are those of `like`. */
export function buildOf(path: string, like: Build, rest: Partial<Build> = {}): Build {
  return { ...like, modules: [{ name: "worker.js", path, type: "esModule" }], objects: {}, vars: {}, ...rest };
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
  await writeFile(file, capnp(workers, scratch, dir, options.port ?? 0));
  const args = ["serve", file, "--control-fd=3", ...(options.args ?? [])];
  const child = new Child(join(BIN, "workerd"), args, ["pipe"]);
  const clean = () => rm(scratch, { recursive: true, force: true });
  try {
    const ports = await listening(child, Object.keys(workers));
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
    throw error;
  }
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** `workerd` says on its control descriptor which ports it has got. */
async function listening(child: Child, names: readonly string[]): Promise<Map<string, number>> {
  const control = child.process.stdio[3] as Readable;
  const { promise, resolve, reject } = Promise.withResolvers<Map<string, number>>();
  const late = setTimeout(() => reject(new Error(`workerd is not up after ${READY_MS} ms\n${child.stderr}`)), READY_MS);
  void child.ended.then(() => reject(new Error(`workerd has ended\n${child.stderr}`)));
  let said = "";
  control.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    const events = said.matchAll(/"event":"listen","socket":"(.*?)","port":(\d+)/g);
    const ports = new Map(Array.from(events, ([, name = "", port]) => [name, Number(port)]));
    if (names.every((name) => ports.has(name))) resolve(ports);
  });
  try {
    return await promise;
  } finally {
    clearTimeout(late);
  }
}

function capnp(workers: Record<string, Build>, scratch: string, dir: string, port: number): string {
  const named = Object.entries(workers).map(([name, build], index) => ({ name, build, constant: `worker${index}` }));
  const services = named.map(({ name, constant }) => `(name = ${quoted(name)}, worker = .${constant})`);
  const sockets = named.map(
    ({ name }) =>
      `(name = ${quoted(name)}, address = "127.0.0.1:${name === MAIN ? port : 0}", http = (), service = ${quoted(name)})`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [${services.join(", ")}, (name = "disk", disk = (path = ${quoted(dir)}, writable = true))],
  sockets = [${sockets.join(", ")}],
);
${named.map(({ name, build, constant }) => workerConstant(constant, name, build, scratch)).join("")}`;
}

function workerConstant(constant: string, name: string, build: Build, scratch: string): string {
  // An embedded path is read as relative to the file that names it, even when it begins with a slash.
  const modules = build.modules.map(
    (module) => `(name = ${quoted(module.name)}, ${module.type} = embed ${quoted(relative(scratch, module.path))})`,
  );
  const owner = name === MAIN ? "waggle" : name;
  const namespaces = [...new Set(Object.values(build.objects))].map(
    (className) =>
      `(className = ${quoted(className)}, uniqueKey = ${quoted(`${owner}-${className}`)}, enableSql = true)`,
  );
  return `
const ${constant} :Workerd.Worker = (
  modules = [${modules.join(", ")}],
  compatibilityDate = ${quoted(build.compatibilityDate)},
  compatibilityFlags = [${build.compatibilityFlags.map(quoted).join(", ")}],
  durableObjectNamespaces = [${namespaces.join(", ")}],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [${bindingsOf(build).join(", ")}],
);
`;
}

function bindingsOf({ objects, services = {}, vars }: Build): string[] {
  return [
    ...Object.entries(objects).map(
      ([name, className]) => `(name = ${quoted(name)}, durableObjectNamespace = ${quoted(className)})`,
    ),
    ...Object.entries(services).map(([name, target]) => `(name = ${quoted(name)}, service = ${designator(target)})`),
    ...Object.entries(vars).map(([name, value]) =>
      typeof value === "string"
        ? `(name = ${quoted(name)}, text = ${quoted(value)})`
        : `(name = ${quoted(name)}, json = ${quoted(JSON.stringify(value))})`,
    ),
  ];
}

function designator({ service, entrypoint, props }: ServiceTarget): string {
  const parts = [`name = ${quoted(service)}`];
  if (entrypoint !== undefined) parts.push(`entrypoint = ${quoted(entrypoint)}`);
  if (props !== undefined) parts.push(`props = (json = ${quoted(JSON.stringify(props))})`);
  return `(${parts.join(", ")})`;
}

/** A text of a Cap'n Proto file; its escapes are those of JSON as far as names, paths and vars go. */
function quoted(value: string): string {
  return JSON.stringify(value);
}
