import type { Operation } from "../operations/operation.ts";
import type { Context } from "./context.ts";
import { renderers } from "./render.ts";

/** Prints the result of an operation, for people or for programs. */
export async function print({ output }: Context, { name }: Pick<Operation, "name">, result: unknown): Promise<void> {
  const render = renderers[name];
  if (output.isJson) await output.line(JSON.stringify(result));
  else if (render === undefined) await output.line(JSON.stringify(result, null, 2));
  else await output.line(render(result as never, output));
}
