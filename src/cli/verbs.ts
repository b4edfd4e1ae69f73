import type { Command } from "commander";
import type { Operation } from "../operations/operation.ts";
import { applyVerb } from "./apply.ts";
import type { Context } from "./context.ts";
import { ejectVerb } from "./eject.ts";
import { importVerb } from "./import.ts";
import { sendVerb } from "./send.ts";
import { tailEphemeral, tailQueue } from "./tail.ts";
import { mintVerb } from "./token.ts";

/** Where a verb of the command line is more than its operation: it reads files, or goes on until it is ended. */
export interface Verb {
  /** In the place of the arguments and options that come from the operation's fields. */
  configure?(command: Command, operation: Operation): void;
  run(
    context: Context,
    operation: Operation,
    args: readonly unknown[],
    options: Record<string, unknown>,
  ): Promise<void>;
}

export const verbs: Record<string, Verb> = {
  apply: applyVerb,
  eject: ejectVerb,
  import: importVerb,
  "queue send": sendVerb("bodies"),
  "ephemeral push": sendVerb("payloads"),
  "queue tail": tailQueue,
  "ephemeral tail": tailEphemeral,
  "token mint": mintVerb,
};
