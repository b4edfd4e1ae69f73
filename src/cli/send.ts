import { perform } from "../operations/operation.ts";
import { UsageError } from "./exit.ts";
import { batchesOfLines } from "./lines.ts";
import { addFields, inputOf, json } from "./options.ts";
import { print } from "./print.ts";
import type { Verb } from "./verbs.ts";

const BATCH_MESSAGES = 100;
const BATCH_CHARS = 200_000;

/** Messages from the command line, or from the lines of standard input; `field` holds them. */
export function sendVerb(field: "bodies" | "payloads"): Verb {
  const at = 1;
  return {
    configure(command, operation) {
      addFields(command, operation, [field]);
      command.addHelpText("after", "\nWithout messages, each line of standard input is one.");
    },
    async run(context, operation, args, options) {
      const typed = (args[at] ?? []) as string[];
      const type = options["type"] ?? "json";
      const bodyOf = (text: string) => (type === "json" ? json("a message", text) : text);
      const send = (texts: readonly string[]) => {
        const input = { ...inputOf(operation, args.toSpliced(at, 1), options), [field]: texts.map(bodyOf) };
        return perform(operation, context.api(), input) as Promise<Record<string, number>>;
      };
      if (typed.length > 0) return print(context, operation, await send(typed));
      if (process.stdin.isTTY) throw new UsageError("give messages as arguments, or on standard input, one a line");
      const total: Record<string, number> = {};
      for await (const batch of batchesOfLines(process.stdin, BATCH_MESSAGES, BATCH_CHARS)) {
        for (const [name, count] of Object.entries(await send(batch))) {
          total[name] = (total[name] ?? 0) + count;
          context.output.progress(`${total[name]} ${name}`);
        }
      }
      context.output.endProgress();
      if (Object.keys(total).length === 0) throw new UsageError("standard input holds no message");
      await print(context, operation, total);
    },
  };
}
