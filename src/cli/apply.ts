import { perform } from "../operations/operation.ts";
import { print } from "./print.ts";
import type { Verb } from "./verbs.ts";
import { readWranglerConfig } from "./wrangler-config.ts";

/** Declares what a file names. */
export const applyVerb: Verb = {
  configure(command) {
    command
      .argument("<file>", "wrangler.toml, wrangler.json or wrangler.jsonc")
      .option("--env <name>", "the environment of the file");
  },
  async run(context, operation, [file], { env }) {
    const declared = await readWranglerConfig(String(file), env as string | undefined);
    await print(context, operation, await perform(operation, context.api(), declared));
  },
};
