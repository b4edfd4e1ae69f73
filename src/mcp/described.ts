import { inputSchema, type FieldSchema } from "../operations/input-schema.ts";
import { operations } from "../operations/index.ts";
import type { Operation } from "../operations/operation.ts";
import { toolName } from "./tools.ts";

/** What `tools/list` answers. It is written down as `tool-list.json` by `npm run openapi`, and the Worker knows it from there. */

export interface Tool {
  name: string;
  title: string;
  description: string;
  inputSchema: object;
  annotations: { readOnlyHint: boolean; destructiveHint: boolean };
}

const CONFIRM: FieldSchema & { const: true } = {
  type: "boolean",
  const: true,
  description: "that whoever is asked for has agreed: this cannot be taken back",
};

/** Verbs that only look. */
const LOOKS = new Set(["ls", "info", "peek", "tail", "consumers", "depth", "groups", "doctor", "eject"]);

export function describedTools(): Tool[] {
  return operations.map(toolOf);
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
