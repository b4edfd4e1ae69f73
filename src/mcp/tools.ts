import { operations } from "../operations/index.ts";
import type { Api } from "../operations/api.ts";
import { inputSchema, InputError, perform, type FieldSchema, type Operation } from "../operations/operation.ts";
import { WaggleError } from "../client/error.ts";

/** The operations as tools of the Model Context Protocol: `queue create` is the tool `queue_create`. */

interface Tool {
  name: string;
  title: string;
  description: string;
  inputSchema: object;
  annotations: { readOnlyHint: boolean; destructiveHint: boolean };
}

export interface ToolResult {
  content: { type: "text"; text: string }[];
  structuredContent?: object;
  isError?: true;
}

const CONFIRM: FieldSchema & { const: true } = {
  type: "boolean",
  const: true,
  description: "that whoever is asked for has agreed: this cannot be taken back",
};

/** Verbs that only look. */
const LOOKS = new Set(["ls", "info", "peek", "tail", "consumers", "depth", "groups", "doctor", "eject"]);

const byTool = new Map(operations.map((operation) => [toolName(operation), operation]));
let listed: Tool[] | null = null;

function toolName({ name }: Operation): string {
  return name.replaceAll(/[ -]/g, "_");
}

/** Made when they are asked for first: a broker that nobody speaks to in this way pays nothing for them. */
export function toolList(): Tool[] {
  return (listed ??= operations.map(toolOf));
}

function toolOf(operation: Operation): Tool {
  const { name, summary, isDestructive } = operation;
  const { properties, required = [] } = inputSchema(operation);
  const schema = isDestructive
    ? { properties: { ...properties, confirm: CONFIRM }, required: [...required, "confirm"] }
    : { properties, required };
  return {
    name: toolName(operation),
    title: name,
    description: summary,
    inputSchema: { type: "object", ...schema, additionalProperties: false },
    annotations: { readOnlyHint: LOOKS.has(name.split(" ").at(-1) ?? ""), destructiveHint: isDestructive },
  };
}

/** null = there is no such tool. What the broker refuses is a result, which whoever called the tool can learn from. */
export async function callTool(name: string, given: Record<string, unknown>, api: Api): Promise<ToolResult | null> {
  const operation = byTool.get(name);
  if (operation === undefined) return null;
  const { confirm, ...input } = given;
  if (operation.isDestructive && confirm !== true) {
    return failed(`${operation.name} cannot be taken back: it needs "confirm": true`);
  }
  if (!operation.isDestructive && confirm !== undefined) return failed('unknown option "confirm"');
  try {
    const result = await perform(operation, api, input);
    // Structured content is an object, whatever the result is.
    const structured = typeof result === "object" && result !== null && !Array.isArray(result) ? result : { result };
    return { content: [{ type: "text", text: JSON.stringify(result) }], structuredContent: structured };
  } catch (error) {
    if (error instanceof WaggleError) return failed(`${error.message} [${error.code}]`);
    if (error instanceof InputError) return failed(error.message);
    throw error;
  }
}

function failed(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}
