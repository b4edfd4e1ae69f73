import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import * as z from "zod/mini";
import { problemsOf } from "../src/contract/parse.ts";
import { must, whole } from "../src/contract/queue-parse.ts";
import { createQueueBody } from "../src/contract/queue-requests.ts";

/** The file that is read when none is named. */
export const CONFIG_FILE = "waggle.config.json";

const port = whole(1, 65_535);
const vars = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
const text = must<string>((value) => typeof value === "string" && value !== "", "a text that is not empty");
const workerName = must<string>(
  (value) => typeof value === "string" && value !== "waggle" && /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(value),
  'the name of a Worker (1 to 63 lower-case letters, digits and hyphens, and not "waggle")',
);
const date = must<string>(
  (value) => typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value),
  'a date like "2026-10-28"',
);

/** A Worker beside the broker, in the words of a wrangler config as far as it goes here. */
const worker = z.strictObject({
  name: workerName,
  main: text,
  compatibility_date: z.optional(date),
  compatibility_flags: z._default(z.array(text), []),
  vars: z._default(vars, {}),
  services: z._default(
    z.array(
      z.strictObject({
        binding: text,
        service: text,
        entrypoint: z.optional(text),
        props: z.optional(z.record(z.string(), z.unknown())),
      }),
    ),
    [],
  ),
  /** Checked where the broker checks it, as a manifest. */
  queues: z._default(z.record(z.string(), z.unknown()), {}),
  /** The entrypoint that holds the handler. */
  entrypoint: z.optional(text),
  /** Where the Worker itself answers. */
  port: z.optional(port),
});
export type WorkerConfig = z.infer<typeof worker>;

/** From a queue of Cloudflare's into a durable queue here. */
const bridge = z.strictObject({
  account: text,
  source: text,
  queue: text,
  /** A file that holds a token of Cloudflare's for queues. */
  token: text,
  url: z._default(text, "https://api.cloudflare.com/client/v4"),
});

const schema = z.strictObject({
  host: z._default(text, "127.0.0.1"),
  port: z._default(port, 6632),
  data: z._default(text, "./data"),
  /** A file that holds what the secret `WAGGLE_KEYS` would. */
  keys: z.optional(text),
  /** A folder of files that are served as they are. */
  assets: z.optional(text),
  vars: z._default(vars, {}),
  queues: z._default(z.array(createQueueBody), []),
  workers: z._default(z.array(worker), []),
  /** `queue`, and the body that the API's route takes; checked as that. */
  consumers: z._default(z.array(z.looseObject({ queue: text })), []),
  bridges: z._default(z.array(bridge), []),
});

/** What one box is to run. Every path in it is absolute. */
export type BoxConfig = z.infer<typeof schema>;

export interface Overrides {
  /** Default: {@link CONFIG_FILE}, if there is one. */
  config?: string | undefined;
  port?: string | undefined;
  data?: string | undefined;
}

/** A configuration that nothing can be started with. */
export class BadConfig extends Error {
  override name = "BadConfig";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** Reads the file. Paths in it start from its folder, those of the command line from where it was given. */
export async function readBox({ config, port: givenPort, data: givenData }: Overrides): Promise<BoxConfig> {
  const file = resolve(config ?? CONFIG_FILE);
  const given = parsed(file, await textOf(file, config !== undefined));
  const read = z.safeParse(schema, given);
  if (!read.success) throw new BadConfig(problemsOf(schema, given, "the file").map((problem) => `${file}: ${problem}`));
  const box = read.data;
  const at = (path: string): string => resolve(dirname(file), path);
  return {
    ...box,
    port: givenPort === undefined ? box.port : portOf(givenPort),
    data: givenData === undefined ? at(box.data) : resolve(givenData),
    ...(box.keys === undefined ? {} : { keys: at(box.keys) }),
    ...(box.assets === undefined ? {} : { assets: at(box.assets) }),
    bridges: box.bridges.map((each) => ({ ...each, token: at(each.token) })),
    workers: box.workers.map((each) => ({ ...each, main: at(each.main) })),
  };
}

/** What objects write, and nothing else. */
export function objectsDir({ data }: BoxConfig): string {
  return join(data, "objects");
}

export function isLoopback({ host }: BoxConfig): boolean {
  return ["127.0.0.1", "::1", "localhost"].includes(host);
}

/** Without a file everything is as it is by default. */
async function textOf(file: string, isNamed: boolean): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" && !isNamed) return "{}";
    throw new BadConfig([`${file} cannot be read: ${(error as Error).message}`]);
  }
}

function parsed(file: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new BadConfig([`${file} is not JSON: ${(error as Error).message}`]);
  }
}

function portOf(given: string): number {
  const problems = problemsOf(port, Number(given), "--port");
  if (problems.length > 0) throw new BadConfig(problems);
  return Number(given);
}
