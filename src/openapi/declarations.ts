import * as z from "zod/mini";
import { mintBody } from "../contract/claims.ts";
import { pullSettings, pushSettings } from "../contract/queue-consumers.ts";
import { consumerTable, manifestBody } from "../contract/queue-manifest.ts";
import { bridgeBody } from "../contract/queue-requests.ts";
import { described, text, type Operation } from "./operation.ts";
import { answered, appliedManifest, bridge, listed } from "./queue-answers.ts";

// A manifest is read as it is and then checked as a consumer of the API, whose ranges hold.
const { shape: table } = consumerTable;
for (const [key, setting] of [
  ["max_batch_size", pushSettings.shape.batch_size],
  ["max_retries", pushSettings.shape.max_retries],
  ["retry_delay", pushSettings.shape.retry_delay],
  ["max_concurrency", pushSettings.shape.max_concurrency],
  ["visibility_timeout_ms", pullSettings.shape.visibility_timeout_ms],
] as const) {
  const { $schema: _dialect, ...range } = z.toJSONSchema(setting, { io: "input", unrepresentable: "any" });
  described(table[key], range);
}

const inBridge = { source: text("the name of the Cloudflare Queue") };

/** What Workers declare, where bridges lead, and tokens. */
export const declarationOperations: Record<string, Operation> = {
  "POST /api/v1/manifests": {
    id: "applyManifest",
    tag: "declarations",
    summary: "Declare what a Worker's wrangler config says of queues, all of it or nothing",
    body: manifestBody,
    answers: answered(appliedManifest),
    errors: [10207, 10400, 10409, 11004, 15001],
  },
  "GET /api/v1/bridges": {
    id: "listBridges",
    tag: "declarations",
    summary: "List the bridges from Cloudflare Queues",
    answers: listed(bridge),
    errors: [],
  },
  "GET /api/v1/bridges/:source": {
    id: "getBridge",
    tag: "declarations",
    summary: "Where the messages of a Cloudflare Queue go",
    params: inBridge,
    answers: answered(bridge),
    errors: [10404],
  },
  "PUT /api/v1/bridges/:source": {
    id: "putBridge",
    tag: "declarations",
    summary: "Say where the messages of a Cloudflare Queue go",
    params: inBridge,
    body: bridgeBody,
    answers: answered(bridge),
    errors: [10104, 10207, 10400],
  },
  "DELETE /api/v1/bridges/:source": {
    id: "deleteBridge",
    tag: "declarations",
    summary: "Remove a bridge",
    params: inBridge,
    answers: answered(bridge),
    errors: [10404],
  },
  "POST /api/v1/tokens": {
    id: "mintToken",
    tag: "system",
    summary: "Mint a token that lets its holder do some things and not others",
    body: mintBody,
    answers: answered(z.object({ token: z.string(), expiresInSeconds: z.number() })),
    errors: [10207, 10400],
  },
};
