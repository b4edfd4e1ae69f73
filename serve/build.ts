import { execFile } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

export const ROOT = join(import.meta.dirname, "..");
export const BIN = join(ROOT, "node_modules", ".bin");

export type Var = string | number | boolean;

/** A Worker that is ready to run: what `workerd` has to know of it. */
export interface Build {
  /** The main module comes first. `name` is what an import statement says. */
  modules: { name: string; path: string; type: "esModule" | "text" | "json" }[];
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
  /** A Worker by its name; the broker's is {@link MAIN}. */
  service: string;
  /** Default: its default export. */
  entrypoint?: string;
  props?: Record<string, unknown>;
}

/** The name of the broker among the Workers of a process. */
export const MAIN = "main";

/** Builds the broker as a deployment would, into a folder that is emptied before. Its vars are those of `wrangler.toml`. */
export async function buildBroker(dir: string): Promise<Build> {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  const wrangler = [join(BIN, "wrangler"), "deploy", "--dry-run", "--outdir", dir];
  await promisify(execFile)(process.execPath, wrangler, { cwd: ROOT });
  // wrangler leaves a text module beside the bundle, under the very name that the bundle imports.
  const texts = (await readdir(dir)).filter((name) => name.endsWith(".sql"));
  return {
    ...(await brokerConfig()),
    modules: [
      { name: "index.js", path: join(dir, "index.js"), type: "esModule" },
      ...texts.map((name) => ({ name: `./${name}`, path: join(dir, name), type: "text" as const })),
    ],
  };
}

/** What `wrangler.toml` says of the broker. */
export async function brokerConfig(): Promise<Omit<Build, "modules">> {
  // It takes most of a second to load, which those who run what others have built need not wait for.
  const { unstable_readConfig: readConfig } = await import("wrangler");
  const config = readConfig({ config: join(ROOT, "wrangler.toml") });
  if (config.compatibility_date === undefined) throw new Error("wrangler.toml names no compatibility_date");
  const bindings: { name: string; class_name: string }[] = config.durable_objects.bindings;
  return {
    objects: Object.fromEntries(bindings.map(({ name, class_name }) => [name, class_name])),
    vars: config.vars as Record<string, Var>,
    compatibilityDate: config.compatibility_date,
    compatibilityFlags: config.compatibility_flags,
  };
}

/** A Worker that is one file of JavaScript, run as the broker is: its dates and flags are those of `like`. */
export function buildOf(path: string, like: Omit<Build, "modules">, rest: Partial<Build> = {}): Build {
  return { ...like, modules: [{ name: "worker.js", path, type: "esModule" }], objects: {}, vars: {}, ...rest };
}
