import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

const ROOT = join(import.meta.dirname, "..");

export interface Example {
  /** Its folder. */
  folder: string;
  port: number;
  /** The Worker that answers requests, by its name. */
  app: string;
  /** The `wrangler.toml` of every Worker of it. */
  configs: string[];
  /** What has to be added to Waggle's own `wrangler.toml`, as TOML. */
  waggle: string;
  /** Declares what the example needs, at the API under this URL. */
  declare(url: string): Promise<void>;
}

/**
 * Runs an example: its Workers and Waggle in one `wrangler dev`. That opens the first of its Workers to the network and no
 * other, so a small one goes in front, which hands `/api/` to Waggle and everything else to the example.
 */
export function run({ folder, port, app, configs, waggle, declare }: Example): void {
  const generated = join(folder, ".wrangler");
  mkdirSync(generated, { recursive: true });
  const from = (path: string): string => JSON.stringify(relative(generated, join(ROOT, path)));
  const own = readFileSync(join(ROOT, "wrangler.toml"), "utf8")
    .replace('"src/index.ts"', from("src/index.ts"))
    .replace('"./public"', from("public"))
    .replace('AUTH = "required"', 'AUTH = "off"');
  writeFileSync(join(generated, "waggle.toml"), `${own}\n${waggle}`);
  writeFileSync(
    join(generated, "front.toml"),
    `name = "front"
main = "${relative(generated, join(ROOT, "examples/front.ts"))}"
compatibility_date = "2026-10-28"
dev.port = ${port}
services = [{ binding = "APP", service = "${app}" }, { binding = "WAGGLE", service = "waggle" }]
`,
  );
  const all = [".wrangler/front.toml", ...configs, ".wrangler/waggle.toml"].flatMap((config) => ["-c", config]);
  dev(folder, all, declare);
}

/** Runs `wrangler dev`, with the options of the command line, and declares what is needed as soon as it answers. */
export function dev(folder: string, args: string[], declare: (url: string) => Promise<void>): void {
  const child = spawn("wrangler", ["dev", ...args, ...process.argv.slice(2)], {
    cwd: folder,
    stdio: ["inherit", "pipe", "inherit"],
  });
  child.once("exit", (code) => process.exit(code ?? 1));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => child.kill(signal));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    process.stdout.write(text);
    const ready = /Ready on (\S+)/.exec((said += text))?.[1];
    if (ready === undefined) return;
    said = "";
    child.stdout.removeAllListeners("data").on("data", (rest: string) => process.stdout.write(rest));
    declare(ready).then(
      () => console.log("Everything is declared."),
      (error: unknown) => {
        console.error(error);
        child.kill();
      },
    );
  });
}

/** A call of Waggle's API. */
export async function call(method: string, url: string, body: unknown): Promise<void> {
  const init = { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
}
