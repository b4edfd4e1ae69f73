import * as z from "zod/mini";
import type { Operation, Schema } from "./operation.ts";

export type Json = Record<string, unknown>;

const OPTIONS = { io: "input", unrepresentable: "any", override: corrected } as const;

/** zod leaves out the default of what is transformed, and says of every whole number that it is a safe one. */
function corrected({ zodSchema, jsonSchema }: { zodSchema: Schema; jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { default: fallback } = z.globalRegistry.get(zodSchema) ?? {};
  if (fallback !== undefined) jsonSchema["default"] = fallback as number | boolean;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

/** Schemas that are referred to by name. */
const components = z.registry<{ id: string }>();

/** Gives a schema a name of its own in the document. */
export function named<S extends Schema>(id: string, schema: S): S {
  components.add(schema, { id });
  return schema;
}

/** Names the bodies and answers of an operation that have no name yet. */
export function nameParts({ id, body, answers }: Operation): void {
  const name = id.charAt(0).toUpperCase() + id.slice(1);
  nameOnce(body, `${name}Body`);
  for (const { schema } of answers) nameOnce(schema, `${name}Answer`);
}

function nameOnce(schema: Schema | undefined, id: string): void {
  if (schema !== undefined && !components.has(schema)) named(id, schema);
}

export function referenceTo(schema: Schema): Json {
  const id = components.get(schema)?.id;
  if (id === undefined) throw new Error("a schema that is referred to has no name");
  return { $ref: uriOf(id) };
}

function uriOf(id: string): string {
  return `#/components/schemas/${id}`;
}

/** Every schema that has a name, in JSON Schema. */
export function componentSchemas(): Record<string, Json> {
  const { schemas } = z.toJSONSchema(components, { ...OPTIONS, uri: uriOf });
  const sorted = Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1));
  // The dialect is said once for the whole document.
  return Object.fromEntries(sorted.map(([id, { $schema: _dialect, $id: _uri, ...schema }]) => [id, schema as Json]));
}

/** The members of an object, and whether each must be there. */
export function membersOf(shape: Record<string, Schema>): { name: string; schema: Json; required: boolean }[] {
  const { properties = {}, required = [] } = z.toJSONSchema(z.object(shape), OPTIONS);
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    schema: schema as Json,
    required: required.includes(name),
  }));
}
