import { Command, CommanderError } from "commander";
import { operations } from "../operations/index.ts";
import { perform, type Operation } from "../operations/operation.ts";
import { VERSION } from "../version.ts";
import { confirm } from "./confirm.ts";
import { contextOf, type Context, type Globals } from "./context.ts";
import { EXIT, failureOf, type ExitCode } from "./exit.ts";
import { addFields, inputOf } from "./options.ts";
import { endQuietlyWithReader, Output } from "./output.ts";
import { print } from "./print.ts";
import { verbs } from "./verbs.ts";

const DEFAULT_URL = "http://localhost:6632";
const GROUPS: Record<string, string> = {
  queue: "durable queues",
  "queue dlq": "dead letters",
  ephemeral: "in-memory queues",
  token: "authorisation",
};

/** Runs one command line. Everything that it says of failures stands on stderr. */
export async function run(argv: readonly string[]): Promise<ExitCode> {
  endQuietlyWithReader();
  const program = new Command("waggle");
  program
    .description("Operates a Waggle broker.")
    .version(VERSION)
    .option("--url <url>", "the broker", process.env["WAGGLE_URL"] ?? DEFAULT_URL)
    .option("--token <token>", "a bearer token; WAGGLE_TOKEN when absent")
    .option("--json", "print results as JSON")
    .option("--yes", "do not ask before what cannot be taken back")
    .exitOverride()
    .showHelpAfterError("(see --help)")
    .addHelpText("after", "\nExit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 conflict, 5 unreachable.");
  for (const operation of operations) addOperation(program, operation);
  try {
    await program.parseAsync(argv, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return report(error, contextOfProgram(program));
  }
}

/** Signals are heard by whoever asks for one; without, Ctrl-C ends the process as it always does. */
function contextOfProgram(program: Command): Context {
  const { url, token = process.env["WAGGLE_TOKEN"], json = false, yes = false } = program.opts<Partial<Globals>>();
  const globals: Globals = { url: url ?? DEFAULT_URL, token, json, yes };
  return contextOf(globals, new Output(json));
}

function addOperation(program: Command, operation: Operation): void {
  const command = commandAt(program, operation.name).description(operation.summary);
  const verb = verbs[operation.name];
  if (verb?.configure === undefined) addFields(command, operation);
  else verb.configure(command, operation);
  command.action(async (...all: unknown[]) => {
    // After the arguments come the options and the command itself.
    const args = all.slice(0, -2);
    const options = all.at(-2) as Record<string, unknown>;
    const context = contextOfProgram(program);
    if (verb?.run !== undefined) return verb.run(context, operation, args, options);
    const input = inputOf(operation, args, options);
    if (operation.isDestructive) await confirm(context, operation, input);
    await print(context, operation, await perform(operation, context.api(), input));
  });
}

/** The command of these words, below those of the first ones. */
function commandAt(program: Command, name: string): Command {
  const words = name.split(" ");
  return words.reduce((parent, word, i) => {
    const known = parent.commands.find((command) => command.name() === word);
    if (known !== undefined) return known;
    const path = words.slice(0, i + 1).join(" ");
    return parent
      .command(word)
      .description(GROUPS[path] ?? "")
      .exitOverride()
      .showHelpAfterError("(see --help)");
  }, program);
}

function report(error: unknown, { globals, output }: Context): ExitCode {
  const { exit, code, message, fix } = failureOf(error, globals.url);
  output.endProgress();
  if (output.isJson) output.note(JSON.stringify({ error: message, code, ...(fix === null ? {} : { fix }) }));
  else {
    output.note(`${output.errorStyle("red", "waggle:")} ${message}`);
    if (fix !== null) output.note(`  ${fix}`);
  }
  return exit;
}
