import { operations } from "../operations/index.ts";
import type { Api } from "../operations/api.ts";
import { InputError, perform, type Operation } from "../operations/operation.ts";
import { WaggleError } from "../client/error.ts";

/** The operations as tools of the Model Context Protocol: `queue create` is the tool `queue_create`. */

export interface ToolResult {
  content: { type: "text"; text: string }[];
  structuredContent?: object;
  isError?: true;
}

const byTool = new Map(operations.map((operation) => [toolName(operation), operation]));

export function toolName({ name }: Operation): string {
  return name.replaceAll(/[ -]/g, "_");
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
