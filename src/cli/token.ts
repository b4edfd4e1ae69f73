import { readFile } from "node:fs/promises";
import { parseKeys } from "../auth/keys.ts";
import { mintToken } from "../auth/mint.ts";
import { mintBody } from "../contract/claims.ts";
import { WaggleError } from "../contract/errors.ts";
import { parseOr } from "../contract/parse.ts";
import { perform } from "../operations/operation.ts";
import { UsageError } from "./exit.ts";
import { addFields, inputOf } from "./options.ts";
import { print } from "./print.ts";
import type { Verb } from "./verbs.ts";

/** Asks the broker for a token, or mints one offline where the keys are at hand. */
export const mintVerb: Verb = {
  configure(command, operation) {
    addFields(command, operation);
    command.option("--keys <file>", "mint offline, with the keys of the secret WAGGLE_KEYS");
  },
  async run(context, operation, args, { keys, ...options }) {
    const input = inputOf(operation, args, options);
    if (typeof keys !== "string") return print(context, operation, await perform(operation, context.api(), input));
    const { claims, expiresInSeconds } = parseOr(
      mintBody,
      { expiresInSeconds: 3600, ...input },
      (problem) => new UsageError(problem),
    );
    const token = await mintToken(await keysOf(keys), claims, expiresInSeconds);
    await print(context, operation, { token, expiresInSeconds });
  },
};

async function keysOf(file: string) {
  try {
    return parseKeys(await readFile(file, "utf8"));
  } catch (error) {
    if (error instanceof WaggleError) throw new UsageError(`${file}: ${error.message}`);
    throw new UsageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}
