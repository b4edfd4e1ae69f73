import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, it } from "vitest";
import { describedTools } from "../../src/mcp/described.ts";
import { openApiDocument } from "../../src/openapi/document.ts";

const PUBLIC = join(import.meta.dirname, "..", "..", "public");

interface Parameter {
  name: string;
  schema: object;
}

it("public/openapi.json is up to date; npm run openapi writes it", async () => {
  const written: unknown = JSON.parse(await readFile(join(PUBLIC, "openapi.json"), "utf8"));
  expect(written).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
});

it("src/mcp/tool-list.json is up to date, too", async () => {
  const written: unknown = JSON.parse(await readFile(join(PUBLIC, "..", "src", "mcp", "tool-list.json"), "utf8"));
  expect(written).toEqual(JSON.parse(JSON.stringify(describedTools())));
});

it("is valid OpenAPI 3.1, and every reference in it leads somewhere", async () => {
  const document = JSON.parse(JSON.stringify(openApiDocument())) as Record<string, unknown>;
  const validator = new Validator();
  expect(await validator.validate(document)).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
  const { schemas } = document["components"] as { schemas: Record<string, unknown> };
  for (const [, id = ""] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
    expect(schemas).toHaveProperty(id);
  }
});

it("says the ranges, types and defaults that requests are checked by", () => {
  const document = openApiDocument();
  const { schemas } = document["components"] as { schemas: Record<string, { properties: Record<string, object> }> };
  expect(schemas["PullMessagesBody"]?.properties).toMatchObject({
    batch_size: { type: "integer", minimum: 1, maximum: 100, default: 5 },
    wait_ms: { type: "integer", minimum: 0, maximum: 300_000, default: 0 },
    consumer: { type: "string", maxLength: 512 },
  });
  expect(schemas["SendMessageBody"]?.properties).toMatchObject({
    content_type: { enum: ["json", "text", "bytes", "v8"], default: "json" },
    delay_seconds: { minimum: 0, maximum: 86_400 },
  });
  const paths = document["paths"] as Record<string, Record<string, { parameters: Parameter[] }>>;
  const query = paths["/api/v1/ephemeral/pop"]?.["get"]?.parameters ?? [];
  expect(Object.fromEntries(query.map(({ name, schema }) => [name, schema]))).toMatchObject({
    queue: { type: "string", minLength: 1 },
    batch: { type: "integer", minimum: 1, maximum: 10_000, default: 1 },
    timeout: { type: "integer", minimum: 0, maximum: 300_000, default: 30_000 },
    wait: { type: "boolean", default: false },
  });
});

it("knows of each named schema what it is: none is left empty", () => {
  const { schemas } = openApiDocument()["components"] as { schemas: Record<string, object> };
  expect(Object.entries(schemas).filter(([, schema]) => Object.keys(schema).length === 0)).toEqual([]);
});
