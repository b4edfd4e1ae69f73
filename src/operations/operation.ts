import * as z from "zod/mini";
import { parseOr } from "../contract/parse.ts";
import type { Api } from "./api.ts";

/**
 * Something that an operator does to a broker: a verb of the command line and a tool of the MCP endpoint at once, both with
 * the same name, the same input and the same result. An operation is a client of the HTTP API and knows nothing else.
 */
export interface Operation<Input = unknown> {
  /** As it is typed, such as `queue create`. */
  name: string;
  summary: string;
  /** Checks what it is given. Its JSON Schema has a description of each field, see {@link inputSchema}. */
  input: z.ZodMiniType<Input>;
  /** The fields that are given by their place on the command line, in order. */
  args: readonly (keyof Input & string)[];
  /** What it does cannot be taken back: whoever offers it asks first. */
  isDestructive: boolean;
  run(api: Api, input: Input): Promise<unknown>;
}

interface Definition<Shape extends z.core.$ZodLooseShape> extends Partial<
  Pick<Operation<z.infer<z.ZodMiniObject<Shape>>>, "args" | "isDestructive">
> {
  name: string;
  summary: string;
  input: Shape;
  run(api: Api, input: z.infer<z.ZodMiniObject<Shape, z.core.$strict>>): Promise<unknown>;
}

/** Defines an operation by the fields that it takes. The list of fields is closed. */
export function operation<Shape extends z.core.$ZodLooseShape>({
  input,
  args = [],
  isDestructive = false,
  ...rest
}: Definition<Shape>): Operation {
  return { ...rest, input: z.strictObject(input), args, isDestructive } as unknown as Operation;
}

/** What an operation cannot do anything with, found before the broker was asked. */
export class InputError extends Error {
  override name = "InputError";
}

/** Checks an input and carries the operation out. */
export async function perform({ input, run }: Operation, api: Api, given: unknown): Promise<unknown> {
  return run(
    api,
    parseOr(input, given, (problem) => new InputError(problem)),
  );
}

/** A field with what is said of it where it can be given. */
export function field<T extends z.ZodMiniType>(schema: T, description: string): T {
  return schema.check(z.describe(description)) as T;
}
