import { expect, it } from "vitest";
import { tables } from "../../src/http/tables.ts";
import { openApiDocument } from "../../src/openapi/document.ts";
import { operations } from "../../src/openapi/operations.ts";

/** Every route that is mounted, and the prefixes of those that answer in the envelope of Cloudflare's API. */
const [queueTable] = tables;
const routes = tables.flatMap(({ routes: all }) => all.map(([method, path]) => `${method} ${path}`));

interface Described {
  operationId: string;
  responses: Record<string, { content?: Record<string, { schema: { $ref?: string } }> }>;
}

/** The operations of the document, by "METHOD /path" as the router has it. */
function documented(): Map<string, Described> {
  const paths = openApiDocument()["paths"] as Record<string, Record<string, Described>>;
  return new Map(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]): [string, Described] => [
        `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
        operation,
      ]),
    ),
  );
}

it("describes every route, and none that there is not (src/openapi/operations.ts says how)", () => {
  expect(Object.keys(operations).toSorted()).toEqual(routes.toSorted());
  expect([...documented().keys()].toSorted()).toEqual(routes.toSorted());
});

it("names every segment of a path, and no other", () => {
  for (const [key, { params = {} }] of Object.entries(operations)) {
    const segments = Array.from(key.matchAll(/:(\w+)/g), ([, segment]) => segment);
    expect(Object.keys(params).toSorted(), key).toEqual(segments.toSorted());
  }
});

it("gives each operation an id of its own", () => {
  const ids = Array.from(documented().values(), ({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

it("describes failures in the envelope that the route's table answers with", () => {
  for (const [key, { responses }] of documented()) {
    const isOfQueues = queueTable?.routes.some(([method, path]) => `${method} ${path}` === key);
    const [failure] = Object.entries(responses).filter(([status]) => status === "500");
    const $ref = failure?.[1].content?.["application/json"]?.schema.$ref;
    expect([key, $ref]).toEqual([key, `#/components/schemas/${isOfQueues ? "QueueFailure" : "Failure"}`]);
  }
});
