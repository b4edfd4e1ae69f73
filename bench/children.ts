import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { rmSync } from "node:fs";

const running = new Set<Child>();
const folders = new Set<string>();

/** A process that was started here. It never outlives this one, however this one ends. */
export class Child {
  readonly process: ChildProcess;
  readonly pid: number;
  /** The last that it wrote on stderr, for the message when it fails. */
  stderr = "";
  readonly #ended: Promise<void>;

  /** `stdio` sets what follows stderr: file descriptors that the program is told to write to. */
  constructor(command: string, args: readonly string[], stdio: ("pipe" | "ignore")[] = []) {
    const streams: StdioOptions = ["ignore", "ignore", "pipe", ...stdio];
    this.process = spawn(command, args, { stdio: streams });
    this.process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr = (this.stderr + text).slice(-10_000);
    });
    this.#ended = new Promise((resolve) => {
      this.process.once("exit", () => resolve());
      this.process.once("error", () => resolve());
    });
    void this.#ended.then(() => running.delete(this));
    const { pid } = this.process;
    if (pid === undefined) throw new Error(`${command} could not be started`);
    this.pid = pid;
    running.add(this);
  }

  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Sends a signal and waits until the process is gone. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.process.kill(signal);
    const late = setTimeout(() => this.process.kill("SIGKILL"), 5000);
    await this.#ended;
    clearTimeout(late);
  }
}

/** Removes a folder when this process ends. */
export function removeAtExit(folder: string): void {
  folders.add(folder);
}

process.once("exit", () => {
  for (const child of running) child.process.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  // Ends through "exit", which ends the children.
  process.once(signal, () => process.exit(1));
}
