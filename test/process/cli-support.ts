import { spawn } from "node:child_process";
import { join } from "node:path";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const PATIENCE_MS = 30_000;

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface How {
  /** What standard input holds; nothing when absent, and no terminal either way. */
  stdin?: string;
  env?: Record<string, string>;
  /** Called with everything that stdout has said so far, and may interrupt the command, once. */
  heard?: (stdout: string, interrupt: () => void) => void;
}

/** Runs the command line as a process of its own. */
export function waggle(args: readonly string[], { stdin = "", env = {}, heard }: How = {}): Promise<Ran> {
  const { WAGGLE_URL: _url, WAGGLE_TOKEN: _token, ...rest } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...rest, ...env },
    timeout: PATIENCE_MS,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let isInterrupted = false;
  const ran: Ran = { code: null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    ran.stdout += text;
    heard?.(ran.stdout, () => {
      if (!isInterrupted) child.kill("SIGINT");
      isInterrupted = true;
    });
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    ran.stderr += text;
  });
  // One that ends without reading closes its end.
  child.stdin.on("error", () => {});
  child.stdin.end(stdin);
  return new Promise((resolve) => child.once("close", (code) => resolve({ ...ran, code })));
}

/** Runs it on a terminal, and types. */
export function onTerminal(args: readonly string[], typed: string): Promise<{ code: number | null; screen: string }> {
  const command = [process.execPath, MAIN, ...args].map((arg) => `'${arg}'`).join(" ");
  // Where nobody looks, as in a CI, a terminal is taken for one without colours.
  const { CI: _ci, ...env } = process.env;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    env: { ...env, TERM: "xterm-256color" },
    timeout: PATIENCE_MS,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let screen = "";
  let hasTyped = false;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    if (hasTyped || !screen.includes("to go on: ")) return;
    hasTyped = true;
    child.stdin.write(`${typed}\n`);
  });
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, screen })));
}
