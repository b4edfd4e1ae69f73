import { Argument, Option, type Command } from "commander";
import { inputSchema, type FieldSchema } from "../operations/input-schema.ts";
import type { Operation } from "../operations/operation.ts";
import { UsageError } from "./exit.ts";

/** The fields of an operation's input as arguments and options, and back. */

/** Adds to a command what its operation takes. Fields of `optional` may come from elsewhere. */
export function addFields(command: Command, operation: Operation, optional: readonly string[] = []): void {
  const { properties, required = [] } = inputSchema(operation);
  for (const name of operation.args) {
    const { description = "", type } = properties[name] ?? {};
    const isRequired = required.includes(name) && !optional.includes(name);
    const label = type === "array" ? `${singular(name)}...` : name;
    command.addArgument(new Argument(isRequired ? `<${label}>` : `[${label}]`, description));
  }
  for (const [name, schema] of Object.entries(properties)) {
    if (!operation.args.includes(name as never)) command.addOption(optionOf(name, schema, required.includes(name)));
  }
}

function optionOf(name: string, schema: FieldSchema, isRequired: boolean): Option {
  const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const option = new Option(schema.type === "boolean" ? flag : `${flag} <${placeOf(schema)}>`, schema.description);
  if (schema.enum !== undefined) option.choices(schema.enum);
  return option.makeOptionMandatory(isRequired);
}

function placeOf({ type }: FieldSchema): string {
  return type === "integer" || type === "number" ? "n" : "text";
}

function singular(name: string): string {
  return name.endsWith("ies") ? `${name.slice(0, -3)}y` : name.replace(/s$/, "");
}

/** What was typed, as the operation takes it. Its own schema judges the rest. */
export function inputOf(
  operation: Operation,
  args: readonly unknown[],
  options: Record<string, unknown>,
): Record<string, unknown> {
  const { properties } = inputSchema(operation);
  const input: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(properties)) {
    const at = operation.args.indexOf(name as never);
    const typed = at >= 0 ? args[at] : options[name];
    if (typed !== undefined) input[name] = valueOf(name, schema, typed);
  }
  return input;
}

function valueOf(name: string, schema: FieldSchema, typed: unknown): unknown {
  if (Array.isArray(typed)) return typed.map((one) => valueOf(name, schema.items ?? {}, one));
  if (typeof typed !== "string") return typed;
  switch (schema.type) {
    case "string":
      return typed;
    case "integer":
    case "number":
      return /^-?\d+(\.\d+)?$/.test(typed) ? Number(typed) : typed;
    default:
      return json(name, typed);
  }
}

export function json(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${name} must be JSON, not ${text.slice(0, 60)}; a text is written '"so"'`);
  }
}
