import * as z from "zod/mini";
import type { Operation } from "./operation.ts";

/** What an operation takes, as JSON Schema. Not for the Worker: zod's part that makes it would be a twentieth of the bundle. */

/** The JSON Schema of an operation's input. */
export interface InputSchema {
  type: "object";
  properties: Record<string, FieldSchema>;
  required?: string[];
}

export interface FieldSchema {
  description?: string;
  type?: "string" | "number" | "integer" | "boolean" | "array" | "object";
  enum?: string[];
  items?: FieldSchema;
}

export function inputSchema({ input }: Operation): InputSchema {
  return z.toJSONSchema(input, { io: "input", unrepresentable: "any" }) as InputSchema;
}
