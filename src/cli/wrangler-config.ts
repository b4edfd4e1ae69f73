import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { parse as parseJsonc, printParseErrorCode, type ParseError } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { UsageError } from "./exit.ts";

/** What a Worker's wrangler configuration declares. */
export interface Declared {
  name: unknown;
  queues: unknown;
}

/** Reads `wrangler.toml`, `wrangler.json` or `wrangler.jsonc`; of an environment when one is named. */
export async function readWranglerConfig(file: string, environment?: string): Promise<Declared> {
  const config = parsed(file, await text(file));
  if (environment === undefined) return declared(file, config, config);
  const environments = config["env"] as Record<string, Record<string, unknown>> | undefined;
  const own = environments?.[environment];
  if (own === undefined) throw new UsageError(`${file} has no environment ${JSON.stringify(environment)}`);
  // A Worker of an environment has its own name, and its queues are not inherited.
  return declared(file, { name: own["name"] ?? `${String(config["name"])}-${environment}` }, own);
}

function declared(file: string, { name }: Record<string, unknown>, { queues }: Record<string, unknown>): Declared {
  if (queues === undefined) throw new UsageError(`${file} declares no queues: it has no [queues] table`);
  return { name, queues };
}

async function text(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}

function parsed(file: string, content: string): Record<string, unknown> {
  if (extname(file) === ".toml") {
    try {
      return parseToml(content) as Record<string, unknown>;
    } catch (error) {
      throw new UsageError(`${file} is not TOML: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const errors: ParseError[] = [];
  const config: unknown = parseJsonc(content, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined)
    throw new UsageError(`${file} is not JSON: ${printParseErrorCode(first.error)} at ${first.offset}`);
  if (typeof config !== "object" || config === null) throw new UsageError(`${file} is not a JSON object`);
  return config as Record<string, unknown>;
}
