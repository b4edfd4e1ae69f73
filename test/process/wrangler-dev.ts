import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../bench/free-port.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** `wrangler dev`, on a port and with a state of its own. */
export class Dev {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #dir: string;
  #said = "";

  private constructor(child: ChildProcess, port: number, dir: string) {
    this.#child = child;
    this.#dir = dir;
    this.url = `http://127.0.0.1:${port}`;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#said += text;
      });
    }
  }

  /** `npm start` in a folder of the project, as a reader of it runs it. Resolves once it has written `ready`. */
  static npm(folder: string, args: string[] = [], ready = "Ready on"): Promise<Dev> {
    return Dev.#start("npm", ["start", "--", ...args], join(ROOT, folder), {}, ready);
  }

  /** An example that declares what it needs. Resolves once all of it is declared. */
  static example(folder: string): Promise<Dev> {
    return Dev.npm(folder, [], "Everything is declared.");
  }

  /** The Workers of some `wrangler.toml`s. Processes see each other if `env` names the same `WRANGLER_REGISTRY_PATH`. */
  static wrangler(folder: string, configs: string[], env: Record<string, string>): Promise<Dev> {
    const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
    const args = [wrangler, "dev", "--inspector-port", "0", ...configs.flatMap((config) => ["-c", config])];
    return Dev.#start(process.execPath, args, folder, env, "Ready on");
  }

  static async #start(command: string, args: string[], cwd: string, env: Record<string, string>, ready: string) {
    const port = await freePort();
    const dir = await mkdtemp(join(tmpdir(), "waggle-dev-"));
    const all = [...args, "--port", String(port), "--persist-to", dir];
    const child = spawn(command, all, { cwd, env: { ...process.env, ...env }, detached: true, stdio: "pipe" });
    const dev = new Dev(child, port, dir);
    try {
      await dev.says(ready, 40_000);
    } catch (error) {
      await dev.stop();
      throw error;
    }
    return dev;
  }

  /** Resolves once it has written this. */
  async says(text: string, ms = 15_000): Promise<void> {
    const until = Date.now() + ms;
    while (!this.#said.includes(text)) {
      if (this.#child.exitCode !== null || Date.now() > until) throw new Error(`no ${text} in:\n${this.#said}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** How often it has written this. */
  times(text: string): number {
    return this.#said.split(text).length - 1;
  }

  async get(path: string): Promise<string> {
    const response = await fetch(this.url + path);
    return response.text();
  }

  /** The answer of a call of Waggle's API. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const init: RequestInit = { method };
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await fetch(`${this.url}/api/v1/${path}`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }

  async stop(): Promise<void> {
    const { pid, exitCode } = this.#child;
    if (pid !== undefined && exitCode === null) {
      const ended = new Promise((resolve) => this.#child.once("exit", resolve));
      // npm, wrangler and workerd are one process group.
      process.kill(-pid, "SIGTERM");
      await ended;
    }
    await rm(this.#dir, { recursive: true, force: true });
  }
}

/** Waggle's own config, open to everybody and with something added, as `waggle.toml` in a folder. */
export async function writeWaggleConfig(folder: string, added = ""): Promise<string> {
  const own = (await readFile(join(ROOT, "wrangler.toml"), "utf8"))
    .replace('"src/index.ts"', JSON.stringify(join(ROOT, "src/index.ts")))
    .replace('"./public"', JSON.stringify(join(ROOT, "public")))
    .replace('AUTH = "required"', 'AUTH = "off"');
  await writeFile(join(folder, "waggle.toml"), `${own}\n${added}`);
  return "waggle.toml";
}
