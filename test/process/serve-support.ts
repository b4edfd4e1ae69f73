import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../bench/free-port.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** `npm run serve` with files of its own, which stay over its restarts. */
export class Served {
  readonly dir: string;
  readonly port: number;
  readonly url: string;
  #child: ChildProcess | null = null;
  #said = "";
  /** The exit code of `npm run serve`, once it and all that it started is gone. */
  ended: Promise<number | null> = Promise.resolve(null);

  private constructor(dir: string, port: number) {
    this.dir = dir;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async in(): Promise<Served> {
    return new Served(await mkdtemp(join(tmpdir(), "waggle-serve-")), await freePort());
  }

  /** What it has written since it was last started. */
  get said(): string {
    return this.#said;
  }

  /** Its configuration; port and data are set here. */
  async configure(config: object): Promise<void> {
    await this.write("waggle.config.json", JSON.stringify({ port: this.port, ...config }));
  }

  write(name: string, content: string): Promise<void> {
    return writeFile(join(this.dir, name), content);
  }

  /** Resolves once it serves. */
  async start(): Promise<void> {
    const ended = this.run();
    const until = Date.now() + 40_000;
    let isOver = false;
    void ended.then(() => (isOver = true));
    while (!this.#said.includes("Waggle listens on")) {
      if (isOver || Date.now() > until) throw new Error(`it does not serve:\n${this.#said}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Runs it to its end, as one that has nothing to serve does, and answers its exit code. */
  run(...args: string[]): Promise<number | null> {
    this.ended = this.#spawn(args);
    return this.ended;
  }

  /** A signal to npm, the launcher and workerd at once. */
  async signalAll(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-child.pid, signal);
    await this.ended;
  }

  async remove(): Promise<void> {
    await this.signalAll("SIGKILL");
    await rm(this.dir, { recursive: true, force: true });
  }

  /** The result of a call of the API. */
  async call<T>(method: string, path: string, body?: unknown, token?: string): Promise<T> {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const init: RequestInit =
      body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await fetch(`${this.url}/api/v1/${path}`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    const answer = JSON.parse(text) as { result?: T };
    return answer.result ?? (answer as T);
  }

  #spawn(args: string[]): Promise<number | null> {
    const all = ["run", "serve", "--", "--config", join(this.dir, "waggle.config.json"), ...args];
    const child = spawn("npm", all, { cwd: ROOT, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    this.#said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#said += text;
      });
    }
    return new Promise((resolve) => child.once("close", resolve));
  }
}
