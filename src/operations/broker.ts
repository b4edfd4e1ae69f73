import * as z from "zod/mini";
import { claimsSchema, MAX_TOKEN_SECONDS } from "../contract/claims.ts";
import { v1 } from "./api.ts";
import { doctorOperation } from "./doctor.ts";
import { field, operation, type Operation } from "./operation.ts";
import { whole } from "./whole.ts";

/** What concerns the broker as a whole. */
export const brokerOperations: Operation[] = [
  operation({
    name: "apply",
    summary: "Declare the queues that a Worker's wrangler configuration names, and show what holds now.",
    input: {
      name: field(z.string(), "the Worker's name"),
      queues: field(z.unknown(), "the `queues` table: its producers and consumers"),
    },
    run: (api, manifest) => api.post(v1`manifests`, manifest),
  }),
  operation({
    name: "token mint",
    summary: "Mint a token that lets its holder do what its claims say.",
    input: {
      claims: field(claimsSchema, 'what it is good for, such as {"queues":[{"queue":"orders","verbs":["send"]}]}'),
      expiresInSeconds: field(z._default(whole(1, MAX_TOKEN_SECONDS), 3600), "how long it is good for, in s"),
    },
    args: ["claims"],
    run: (api, input) => api.post(v1`tokens`, input),
  }),
  doctorOperation,
];
