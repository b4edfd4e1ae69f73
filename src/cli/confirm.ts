import { createInterface } from "node:readline/promises";
import type { Operation } from "../operations/operation.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./exit.ts";

/** Has the name of the queue typed before what cannot be taken back. Throws when it is not. */
export async function confirm(
  { globals }: Context,
  operation: Pick<Operation, "name" | "summary">,
  input: Record<string, unknown>,
) {
  if (globals.yes) return;
  const name = String(input["queue"]);
  if (!process.stdin.isTTY) {
    throw new UsageError(`${operation.name} asks before it does anything, and nobody is there to answer: pass --yes`);
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const typed = await prompt.question(`${operation.summary} This cannot be taken back.\nType ${name} to go on: `);
    if (typed.trim() !== name) throw new UsageError(`nothing was done: what was typed is not ${name}`);
  } finally {
    prompt.close();
  }
}
