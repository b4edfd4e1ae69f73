import * as z from "zod/mini";
import { STATUS, type ErrorCode } from "../contract/errors.ts";
import { QUEUE_STATUS, type QueueErrorCode } from "../contract/queue-errors.ts";
import { VERSION } from "../version.ts";
import { componentSchemas, membersOf, named, nameParts, referenceTo, type Json } from "./components.ts";
import { TAGS, type Operation } from "./operation.ts";
import { operations } from "./operations.ts";
import { queueFailure } from "./queue-answers.ts";

const failure = named("Failure", z.object({ error: z.string(), code: z.enum(Object.keys(STATUS) as ErrorCode[]) }));

/** Of whatever route a token is needed for, in either envelope. */
const OF_TOKENS: ErrorCode[] = ["unauthorized", "forbidden", "auth_not_configured"];
const OF_TOKENS_OF_QUEUES: [status: number, code: QueueErrorCode][] = [401, 403, 503].map((status) => [status, 10106]);

/** The description of all routes, as OpenAPI 3.1 has it. */
export function openApiDocument(): Json {
  for (const operation of Object.values(operations)) nameParts(operation);
  return {
    openapi: "3.1.1",
    info: {
      title: "Waggle",
      version: VERSION,
      summary:
        "A message broker: durable queues with the contract of Cloudflare Queues, and ephemeral queues in memory.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: paths(),
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        ticket: {
          type: "apiKey",
          in: "query",
          name: "ticket",
          description: "from `POST /api/v1/tickets`, for a `WebSocket` or `EventSource` of a browser; good once",
        },
      },
      schemas: componentSchemas(),
    },
  };
}

function paths(): Json {
  const items: Record<string, Json> = {};
  for (const [key, operation] of Object.entries(operations)) {
    const [method = "", path = ""] = key.split(" ");
    const item = (items[path.replaceAll(/:(\w+)/g, "{$1}")] ??= {});
    item[method.toLowerCase()] = operationObject(operation, isOfQueues(path));
  }
  return items;
}

/** Whether a path answers failures in the envelope of Cloudflare's API. */
function isOfQueues(path: string): boolean {
  return /^\/(?:client\/v4|api\/v1\/(?:queues|manifests|bridges|tokens))(?:\/|$)/.test(path);
}

function operationObject(operation: Operation, ofQueues: boolean): Json {
  const {
    id,
    tag,
    summary,
    description,
    params = {},
    query = {},
    body,
    mayLackBody = false,
    access,
    frames,
  } = operation;
  const parameters = [
    ...membersOf(params).map((member) => ({ ...member, required: true, in: "path" })),
    ...membersOf(query).map((member) => ({ ...member, in: "query" })),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(access === "open" && { security: [] }),
    ...(access === "ticket" && { security: [{ bearer: [] }, { ticket: [] }] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: !mayLackBody, content: { "application/json": { schema: referenceTo(body) } } },
    }),
    responses: { ...answersOf(operation), ...failuresOf(operation, ofQueues) },
    ...(frames !== undefined && {
      "x-frames": { client: referenceTo(frames.client), broker: referenceTo(frames.broker) },
    }),
  };
}

function answersOf({ answers }: Operation): Json {
  const described = answers.map(({ status, description, contentType = "application/json", schema }) => {
    const media = schema === undefined ? { schema: { type: "string" } } : { schema: referenceTo(schema) };
    return [status, status === 101 ? { description } : { description, content: { [contentType]: media } }] as const;
  });
  return Object.fromEntries(described);
}

/** One response for each status, which says the codes that come with it. */
function failuresOf({ errors, body, access }: Operation, ofQueues: boolean): Json {
  const codes = new Set<readonly [status: number, code: ErrorCode | QueueErrorCode]>();
  if (access !== "open") for (const each of ofQueues ? OF_TOKENS_OF_QUEUES : OF_TOKENS.map(withStatus)) codes.add(each);
  for (const code of errors) codes.add(withStatus(code));
  if (body !== undefined) codes.add(ofQueues ? [413, 10205] : withStatus("payload_too_large"));
  codes.add(withStatus(ofQueues ? 15000 : "internal"));
  const schema = referenceTo(ofQueues ? queueFailure : failure);
  const byStatus = Map.groupBy(codes, ([status]) => status);
  const sorted = [...byStatus].sort(([a], [b]) => a - b);
  return Object.fromEntries(
    sorted.map(([status, all]) => {
      const description = [...new Set(all.map(([, code]) => `\`${code}\``))].join(", ");
      return [status, { description, content: { "application/json": { schema } } }];
    }),
  );
}

function withStatus(code: ErrorCode | QueueErrorCode): [status: number, code: ErrorCode | QueueErrorCode] {
  return [typeof code === "number" ? QUEUE_STATUS[code] : STATUS[code], code];
}
