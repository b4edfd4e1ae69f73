import * as z from "zod/mini";
import { ownersQuery } from "../contract/requests.ts";
import { rpcMessage } from "../mcp/protocol.ts";
import { count, type Operation } from "./operation.ts";
import { overviewOperation } from "./overview.ts";

const owner = z.object({
  owner: z.string(),
  incarnation: z.string(),
  rings: count("partitions held"),
  queues: z.number(),
  bytes: z.number(),
  parkedPops: z.number(),
  subscribers: z.number(),
  partitions: z.optional(z.array(z.string())),
});

export const systemOperations: Record<string, Operation> = {
  "GET /api/v1/system/owners": {
    id: "owners",
    tag: "system",
    summary: "Which owner holds what, and of one queue which partitions",
    query: ownersQuery.shape,
    answers: [{ status: 200, description: "every owner", schema: z.object({ owners: z.array(owner) }) }],
    errors: ["ephemeral_bad_request", "owner_moved", "ephemeral_forward_failed"],
  },
  "GET /api/v1/system/overview": overviewOperation,
  "GET /metrics": {
    id: "metrics",
    tag: "system",
    summary: "Metrics in the Prometheus text format; wakes every object that it asks",
    answers: [{ status: 200, description: "Prometheus text", contentType: "text/plain" }],
    errors: ["owner_moved", "ephemeral_forward_failed"],
  },
  "POST /api/v1/tickets": {
    id: "issueTicket",
    tag: "system",
    summary: "Exchange a token for a ticket, which stands for it in a URL, once and for 30 s",
    answers: [
      {
        status: 201,
        description: "the ticket",
        schema: z.object({ ticket: z.string(), expiresInSeconds: z.number() }),
      },
    ],
    errors: ["ephemeral_unavailable"],
  },
  "POST /mcp": {
    id: "mcp",
    tag: "system",
    summary: "One message of the Model Context Protocol: its tools are the verbs of the command line",
    description: "JSON-RPC 2.0 over streamable HTTP, without sessions. A notification is answered 202 with no body.",
    body: rpcMessage,
    answers: [
      {
        status: 200,
        description: "the response of JSON-RPC, be it a result or an error",
        schema: z.object({
          jsonrpc: z.literal("2.0"),
          id: z.union([z.string(), z.number(), z.null()]),
          result: z.optional(z.looseObject({})),
          error: z.optional(z.object({ code: z.int(), message: z.string() })),
        }),
      },
      { status: 202, description: "it was a notification" },
    ],
    errors: ["forbidden", "payload_too_large"],
  },
  "GET /health": {
    id: "health",
    tag: "system",
    summary: "Whether the broker answers; wakes nothing",
    access: "open",
    answers: [
      {
        status: 200,
        description: "it does",
        schema: z.object({ status: z.literal("ok"), version: z.string(), owners: z.number() }),
      },
    ],
    errors: [],
  },
};
